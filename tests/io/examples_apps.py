"""A small valid file of every format that a program for experiments writes."""

import json

from tests.io.examples import Example

NEXT = {
    "participant_responses": {
        "u1": [
            {
                "target_indices": [
                    {"index": 0, "label": "center", "primary_description": "img/cat.png"},
                    {"index": 1, "label": "left", "primary_description": "img/dog.png"},
                    {"index": 2, "label": "right", "primary_description": "img/bus.png"},
                ],
                "index_winner": 1,
                "response_time": 1.5,
            },
            {
                "target_indices": [
                    {"index": 2, "label": "center", "primary_description": "img/bus.png"},
                    {"index": 1, "label": "left", "primary_description": "img/dog.png"},
                    {"index": 0, "label": "right", "primary_description": "img/cat.png"},
                ],
            },
        ]
    }
}
JSPSYCH = [
    {"trial_type": "instructions", "trial_index": 0, "rt": 9000, "worker_id": "w1"},
    {
        "trial_type": "html-button-response",
        "trial_index": 1,
        "stimulus": "<p>Do you agree to take part?</p>",
        "choices": ["I agree", "I do not agree"],
        "response": 0,
        "rt": 3000,
        "worker_id": "w1",
    },
    *(
        {
            "trial_type": "html-button-response",
            "trial_index": 2 + i,
            "stimulus": f'<img src="img/{anchor}.png" width="200">',
            "choices": [f'<img src="img/{each}.png">' for each in choices],
            "response": response,
            "rt": 1250,
            "worker_id": "w1",
        }
        for i, (anchor, choices, response) in enumerate(
            [
                ("cat", ("dog", "bus"), 0),
                ("dog", ("bus", "cat"), 1),
                ("bus", ("cat", "dog"), None),
                ("bus", ("cat", "bus"), 1),
            ]
        )
    ),
]
PSYCHOPY_COLUMNS = {"anchor": "probe", "left": "imgL", "right": "imgR"}

TEXTS = [
    (
        "salmon.csv",
        "salmon",
        "head,left,right,winner,loser,sampler,puid,response_time,head_html,left_html,right_html\n"
        "0,1,2,1,2,ARR,p1,1.5,cat,dog,bus\n"
        "2,0,1,1,0,ARR,p2,-1,bus,cat,dog\n",
        2,
        2,
    ),
    ("next.json", "next", json.dumps(NEXT), 2, 1),
    (
        "triplettools.csv",
        "triplettools",
        "head,winner,loser,worker_id,rt,Center,Left,Right,Answer,sampleAlg\n"
        "1,2,0,w1,1500,cat,dog,bus,dog,random\n"
        "0,1,2,w1,900,bus,dog,cat,cat,validation\n"
        "2,2,0,w1,800,dog,dog,bus,dog,check\n",
        3,
        2,
    ),
    ("indices.csv", "triplettools", "head,winner,loser,worker_id\n0,1,2,w\n1,0,2,w\n", 2, 2),
    ("jspsych.json", "jspsych", json.dumps(JSPSYCH), 6, 2),
    (
        "jspsych.csv",
        "jspsych",
        "rt,stimulus,choices,response,trial_type,trial_index,worker_id,trial_category\n"
        ",,,,instructions,0,w1,\n"
        '1500,img/cat.png,"[""img/dog.png"",""img/bus.png""]",0,image-button-response,1,w1,random\n'
        '900,img/bus.png,"[""img/dog.png"",""img/cat.png""]",1,image-button-response,2,w1,random\n',
        3,
        2,
    ),
    (
        "psychopy.csv",
        "psychopy",
        "probe,imgL,imgR,key_resp.keys,key_resp.rt,trials.thisN,participant,date,expName,"
        "psychopyVersion,frameRate,\n"
        ",,,,,,7,2024-01-01,exp,2023.2.3,60,\n"
        "img/cat.png,img/dog.png,img/bus.png,left,0.71,0,7,2024-01-01,exp,2023.2.3,60,\n"
        "img/bus.png,img/dog.png,img/cat.png,None,,1,7,2024-01-01,exp,2023.2.3,60,\n"
        "img/dog.png,img/bus.png,img/cat.png,right,1.2,2,7,2024-01-01,exp,2023.2.3,60,\n",
        4,
        2,
    ),
]

EXAMPLES = [Example(name, kind, text.encode(), *counts) for name, kind, text, *counts in TEXTS]


def columns_of(example):
    """The column map that a file needs."""
    return PSYCHOPY_COLUMNS if example.format == "psychopy" else None
