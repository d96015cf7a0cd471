"""A small valid file of every format that is a table, an array or a list of choices."""

import io
import json
from typing import NamedTuple

import numpy as np
import pyarrow
import pyarrow.parquet


class Example(NamedTuple):
    name: str  # of the file
    format: str
    content: bytes
    rows: int
    answers: int


def npz(**arrays):
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def npy(array, **options):
    content = io.BytesIO()
    np.save(content, array, **options)
    return content.getvalue()


def parquet(**columns):
    content = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), content)
    return content.getvalue()


FOOD = [
    {
        "worker_id": 345,
        "created_at": "2014-04-08 00:39:19+00:00",
        "HIT_screens": [
            {
                "probe": "images/soup.jpg",
                "images": ["images/stew.jpg", "images/cake.jpg", "images/pie.jpg"],
                "near_answer": ["images/stew.jpg"],
                "is_catchtrial": False,
                "correct_answer": None,
                "timer": 32447,
            },
            {
                "probe": "images/cake.jpg",
                "images": ["images/pie.jpg", "images/stew.jpg"],
                "near_answer": ["images/pie.jpg"],
                "is_catchtrial": True,
                "correct_answer": [0],
                "timer": 900,
            },
        ],
    },
    {
        "worker_id": 346,
        "HIT_screens": [
            {
                "probe": "images/pie.jpg",
                "images": ["images/stew.jpg", "images/cake.jpg"],
                "near_answer": ["images/cake.jpg"],
                "is_catchtrial": False,
                "timer": 1500,
            }
        ],
    },
]

TEXTS = [
    ("tidy.csv", "tidy", "anchor,near,far,observer\ncat,dog,café,eve\ndog,cat,bus,bob\n", 2, 2),
    ("quads.csv", "tidy", "a,b,c,d\n0,1,2,3\n3,2,0,1\n", 2, 2),
    ("headless.csv", "tidy", "0,1,2\n2,1,0\n", 2, 2),
    ("triplets.txt", "array", "# anchor near far\n0 1 2\n2  1 0 # why not\n\n1 0 2\n", 3, 3),
    ("quadruplets.txt", "array", "0 1 2 3\n2 3 0 1\n", 2, 2),
    ("savetxt.txt", "array", "0.0e+00 1.0e+00 2.0e+00\n2.0e+00 1.0e+00 0.0e+00\n", 2, 2),
    ("odd.csv", "odd-one-out", "similar1,similar2,odd,participant\n0,1,2,7\n3,1,0,8\n", 2, 4),
    ("odd3.csv", "odd-one-out", "object1,object2,object3,odd\ncat,dog,car,car\na,b,c,b\n", 2, 4),
    ("central.csv", "most-central", "central,other1,other2\ncat,dog,car\nbus,car,dog\n", 2, 4),
    (
        "survey.csv",
        "most-central",
        "survey_round,chosen_center,triplet_object_1,triplet_object_2,triplet_object_3,"
        "response_time\n1,32,32,16,30,11.108\n1,18,15,18,53,19.483\n",
        2,
        4,
    ),
    ("grid.csv", "screens", "anchor,chosen,shown\na,b|c,b|c|d|e\ne,d,a|d\n", 2, 5),
    ("ranked.csv", "screens", "anchor,ranked,shown,observer\n0,2 1,1 2 3,eve\n3,1,1 2,bob\n", 2, 4),
    ("food.json", "screens", json.dumps(FOOD, indent=1), 3, 3),
    ("kk.csv", "mlds-quads", "resp,S1,S2,S3,S4\n1,2,4,6,8\n0,6,9,1,4\n1,1,3,5,7\n", 3, 3),
    ("python.csv", "mlds-quads", "Response,s1,s2,s3,s4\n1,.1,.2,.5,.9\n0,0,.9,.2,.1\n", 2, 2),
    ("triads.csv", "mlds-triads", "Trial,Response,s1,s2,s3\n0,0,1,0.8,0.6\n1,1,0,0.05,0.8\n", 2, 2),
    ("cblearn.csv", "cblearn", "i,j,k,response\n0,1,2,1\n0,2,1,-1\n1,2,0,3\n", 3, 3),
]  # fmt: skip

ROWS = np.array([[0, 1, 2], [2, 1, 3], [3, 0, 1]])
EXAMPLES = [
    *(Example(name, kind, text.encode(), *counts) for name, kind, text, *counts in TEXTS),
    Example("triplets.npy", "array", npy(ROWS), 3, 3),
    Example("triplets.npz", "array", npz(triplets=ROWS, observers=["a", "b", "a"]), 3, 3),
    Example("anything.npz", "array", npz(mine=ROWS), 3, 3),
    Example("cblearn.npz", "cblearn", npz(triplets=ROWS, responses=[True, False, True]), 3, 3),
    Example(
        "tidy.parquet",
        "parquet",
        parquet(anchor=["cat", "dog"], near=["dog", "cat"], far=["car", "bus"], rt=[1, 2]),
        2,
        2,
    ),
]
