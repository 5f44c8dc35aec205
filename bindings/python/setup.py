"""What pyproject.toml cannot say: with a library in the package, a wheel is for one platform.

It is loaded by ctypes, so one wheel serves every Python 3 of that platform: no ABI of Python's.
"""

from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

HAS_LIBRARY = any(Path(__file__).parent.glob("gpujoin/libgpujoin.so*"))


class PackageWithLibrary(Distribution):
    def has_ext_modules(self):
        return HAS_LIBRARY


class WheelOfAnyPython(bdist_wheel):
    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


setup(distclass=PackageWithLibrary, cmdclass={"bdist_wheel": WheelOfAnyPython})
