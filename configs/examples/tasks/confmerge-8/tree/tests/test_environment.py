from confmerge import from_environment


def test_nested():
    found = from_environment("APP", {"APP__DB__PORT": "5432", "APP__DEBUG": "true", "OTHER__X": "1"})
    assert found == {"db": {"port": 5432}, "debug": True}


def test_text_that_is_not_json():
    assert from_environment("APP", {"APP__NAME": "north pole"}) == {"name": "north pole"}
