"""The ResNet-50 of bench/models/resnet50.h in PyTorch."""
import torch.nn as nn
import torch.nn.functional as F


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        layers, channels = [], 64
        for stage, blocks in enumerate((3, 4, 6, 3)):
            for k in range(blocks):
                layers.append(Bottleneck(channels, 64 << stage, 2 if stage and k == 0 else 1))
                channels = 4 * (64 << stage)
        self.layers, self.fc = nn.Sequential(*layers), nn.Linear(2048, 1000)

    def logits(self, images):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(images))), 3, 2, 1)
        return self.fc(self.layers(x).mean((2, 3)))

    def forward(self, images, labels):
        return F.cross_entropy(self.logits(images), labels)
