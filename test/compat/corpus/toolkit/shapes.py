from . import __all__ as names


class Square:
    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2

    def __repr__(self):
        return f"Square({self.side}) of {names}"
