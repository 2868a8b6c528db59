"""Which paths count in Java, Rust, C and C++."""

import pytest

from parsimony.footprint import classify


@pytest.mark.parametrize(
    ("path", "language", "reason"),
    [
        ("src/main/java/a/B.java", "java", "in"),
        ("src/main/java/a/Latest.java", "java", "in"),
        ("src/main/java/a/Contest.java", "java", "in"),
        ("src/main/java/a/Testable.java", "java", "in"),
        ("src/main/java/it/a/Audit.java", "java", "in"),
        ("src/test/java/a/B.java", "java", "test_dir"),
        ("a/BTest.java", "java", "file_name_test_class"),
        ("a/BTests.java", "java", "file_name_test_class"),
        ("a/B2TestCase.java", "java", "file_name_test_class"),
        ("a/BIT.java", "java", "in"),
        ("a/BuildIT.java", "java", "file_name_test_class"),
        ("a/TestB.java", "java", "file_name_test_class"),
        ("a/target/B.java", "java", "build_or_environment_dir"),
        ("a/jmh/B.java", "java", "examples_or_benchmarks_dir"),
        ("a/B.kt", "java", "other_language_suffix"),
        ("src/lib.rs", "rust", "in"),
        ("src/attest.rs", "rust", "in"),
        ("src/a/tests.rs", "rust", "file_name_exact"),
        ("src/a/a_tests.rs", "rust", "file_name_test_infix"),
        ("tests/a.rs", "rust", "test_dir"),
        ("benches/a.rs", "rust", "examples_or_benchmarks_dir"),
        ("target/debug/a.rs", "rust", "build_or_environment_dir"),
        ("build.rs", "rust", "file_name_exact"),
        ("src/a.c", "c", "in"),
        ("include/a.h", "c", "in"),
        ("src/a.cc", "c", "other_language_suffix"),
        ("src/unittests/a.c", "c", "test_dir"),
        ("thirdparty/a.c", "c", "vendored_dir"),
        ("src/parser.tab.c", "c", "file_name_suffix"),
        ("src/a.hpp", "cpp", "in"),
        ("src/a.C++", "cpp", "in"),
        ("src/a.h", "cpp", "in"),
        ("src/latest.cpp", "cpp", "in"),
        ("src/FooTest.cpp", "cpp", "file_name_test_class"),
        ("src/FooUnitTests.h", "cpp", "file_name_test_class"),
        ("src/foo_unittest.cc", "cpp", "file_name_test_infix"),
        ("src/foo-test.cc", "cpp", "file_name_test_infix"),
        ("src/a.pb.cc", "cpp", "file_name_suffix"),
        ("src/a.generated.h", "cpp", "file_name_generated_infix"),
        ("a.cpp", "cpp", "in"),
    ],
)
def test_paths(path: str, language: str, reason: str) -> None:
    decision = classify(path, language=language, new_file=True)
    assert decision.reason == reason
    assert decision.in_scope is (reason == "in")
