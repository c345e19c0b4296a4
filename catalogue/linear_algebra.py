"""Matrices, with numpy's LAPACK."""

import numpy

from .inputs import matrix, numbers, square


def _vector_or_matrix(value, name):
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (list, tuple)):
        return numpy.array(matrix(value, name))
    return numpy.array(numbers(value, name))


def matrix_solve(a, b) -> dict:
    """Solve a x = b; by least squares if a is not square."""
    left = numpy.array(matrix(a, "a"))
    right = _vector_or_matrix(b, "b")
    if left.shape[0] != right.shape[0]:
        raise ValueError("a has {} rows and b {}; they must be equal".format(left.shape[0], right.shape[0]))
    condition = float(numpy.linalg.cond(left))
    is_square = left.shape[0] == left.shape[1]
    if is_square and not condition < 1 / numpy.finfo(float).eps:
        raise ValueError("a is singular: its rows depend on each other")
    solution = numpy.linalg.solve(left, right) if is_square else numpy.linalg.lstsq(left, right, rcond=None)[0]
    residual = float(numpy.linalg.norm(left @ solution - right))
    return {
        "x": solution.tolist(),
        "method": "lu" if is_square else "least squares",
        "residual": residual,
        "condition": condition if numpy.isfinite(condition) else None,
    }


def _upright(vectors):
    """Vectors are known but for their sign: the largest part of each column is made positive."""
    largest = numpy.argmax(numpy.abs(vectors) > 0.999999 * numpy.max(numpy.abs(vectors), axis=0), axis=0)
    parts = vectors[largest, numpy.arange(vectors.shape[1])]
    return vectors / numpy.where(parts == 0, 1, parts / numpy.abs(parts))


def matrix_eigenvalues(matrix, vectors=False) -> dict:
    """Eigenvalues, the smallest first."""
    read = numpy.array(square(matrix, "matrix"))
    is_symmetric = bool(numpy.array_equal(read, read.T))
    values, columns = numpy.linalg.eigh(read) if is_symmetric else numpy.linalg.eig(read)
    order = numpy.lexsort((values.imag, values.real))
    values, columns = values[order], _upright(columns[:, order])
    answer = {
        "eigenvalues": [_plain(value) for value in values],
        "symmetric": is_symmetric,
        "trace": float(numpy.trace(read)),
        "determinant": float(numpy.linalg.det(read)),
    }
    if vectors:
        answer["eigenvectors"] = [[_plain(part) for part in column] for column in columns.T]
    return answer


def _plain(value):
    number = complex(value)
    return number.real if number.imag == 0 else number


def matrix_svd(matrix, vectors=False) -> dict:
    """Singular values, the largest first."""
    read = _read(matrix)
    left, values, right = numpy.linalg.svd(read, full_matrices=False)
    limit = values.max(initial=0) * max(read.shape) * numpy.finfo(float).eps
    smallest = float(values[-1])
    answer = {
        "singular_values": values.tolist(),
        "rank": int((values > limit).sum()),
        "condition": float(values[0]) / smallest if smallest > limit else None,
    }
    if vectors:
        upright = _upright(left)
        signs = numpy.sign((left * upright).sum(axis=0))
        answer["u"] = upright.tolist()
        answer["vt"] = (right * signs[:, None]).tolist()
    return answer


def _read(rows):
    return numpy.array(matrix(rows, "matrix"))
