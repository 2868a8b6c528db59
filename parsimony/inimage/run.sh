# Grade one candidate inside its sandbox: pristine tree -> candidate patch -> steering files back to base -> test patch
# -> tests. POSIX sh and git; nothing is installed. The whole file is read before anything runs (everything is a
# function, called on the last line), because the tests may rewrite what lies on disk.
#
# With PARSIMONY_LOOK set it ends in a shell where the tests would start (`parsimony replay`).
# In: $PARSIMONY_IN/settings.sh (made by parsimony.runner; see there), patches, reporters.
# Out: $PARSIMONY_OUT/{phase,steps,report.json,apply.log,applied.patch,base/*,reports/*}.
# Exit status: 0 the tests were run (whatever they said), 64 the patch does not apply, 65 the test patch does not
# apply, 66 there is no work tree.

set -u
umask 022
IN=$PARSIMONY_IN
OUT=$PARSIMONY_OUT
STEPS=

note() { STEPS="$STEPS$1 $2
"; }

finish() {
  printf '%s' "$STEPS" >"$OUT/steps.new" && mv -f "$OUT/steps.new" "$OUT/steps"
  exit "$1"
}

phase() { printf '%s\n' "$1" >"$OUT/phase"; }

# Our own git calls see no configuration of the candidate's and take any owner of the tree.
g() {
  GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
    GIT_CONFIG_KEY_1=core.hooksPath GIT_CONFIG_VALUE_1=/dev/null \
    GIT_AUTHOR_NAME=parsimony GIT_AUTHOR_EMAIL=parsimony@localhost GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' \
    GIT_COMMITTER_NAME=parsimony GIT_COMMITTER_EMAIL=parsimony@localhost GIT_COMMITTER_DATE='2020-01-01T00:00:00Z' \
    git "$@"
}

unpack_tree() {
  mkdir -p "$WORKDIR" && tar -C "$WORKDIR" -xf "$IN/base.tar" && cd "$WORKDIR" || return 1
  g init -q . && g add -A -f . && g commit -q --allow-empty -m base
}

# ---- saving and putting back single paths: SAVE/N holds the path, SAVE/N.absent says that there was none

save() { # save SLOT PATH
  if [ -e "$2" ] || [ -L "$2" ]; then
    cp -a -- "$2" "$SAVE/$1" 2>/dev/null || cp -pPR -- "$2" "$SAVE/$1"
  else
    : >"$SAVE/$1.absent"
  fi
}

put_back() { # put_back SLOT PATH
  rm -rf -- "$2"
  if [ ! -e "$SAVE/$1.absent" ]; then
    case $2 in */*) mkdir -p -- "${2%/*}" ;; esac
    cp -a -- "$SAVE/$1" "$2" 2>/dev/null || cp -pPR -- "$SAVE/$1" "$2"
  fi
}

# touched.sh calls `touched SLOT PATH` for each path of the patch; steering.sh calls `steers SLOT PATH` and
# `mixed SLOT PATH` for those of them that can change how tests run.
touched() { save "$1" "$2"; }
save_touched() {
  . "$IN/touched.sh"
  INDEX=$(g rev-parse --git-path index 2>/dev/null) && [ -f "$INDEX" ] && cp -p "$INDEX" "$SAVE/index"
}
pristine() {
  touched() { put_back "$1" "$2"; }
  . "$IN/touched.sh"
  # A git that gave up on an assertion leaves its lock behind.
  [ -f "$SAVE/index" ] && rm -f "$INDEX.lock" && cp -p "$SAVE/index" "$INDEX"
  return 0
}

# sources.sh calls `source_file N PATH` for each implementation file whose base version is wanted (4 MiB at most). The
# tests could write into the outbox, so the identity of what was put there is noted.
keep_sources() {
  mkdir -p "$OUT/base"
  source_file() {
    [ -f "$2" ] && [ ! -L "$2" ] || return 0
    if [ -n "$(find "./$2" -size -8193 2>/dev/null)" ]; then
      cp -- "$2" "$OUT/base/$1" && note base "$1 $(g hash-object --no-filters -- "$OUT/base/$1")"
    else
      note too_large "$1"
    fi
  }
  . "$IN/sources.sh"
}

# ---- the candidate's patch: strategies in order, each from the pristine tree, each all or nothing

strategy_git() { g apply --whitespace=nowarn "$1" 2>>"$OUT/apply.log"; }
strategy_3way() { g apply --3way --whitespace=nowarn "$1" >>"$OUT/apply.log" 2>&1; }
strategy_fuzz() {
  command -v patch >/dev/null 2>&1 || return 1
  patch --batch --forward --fuzz=5 --no-backup-if-mismatch -p1 --dry-run -i "$1" >>"$OUT/apply.log" 2>&1 &&
    patch --batch --forward --fuzz=5 --no-backup-if-mismatch -r - -p1 -i "$1" >>"$OUT/apply.log" 2>&1
}

apply_candidate() {
  : >"$OUT/apply.log"
  for strategy in $STRATEGIES; do
    # `git apply` gets the forms that it applies whole, `patch` the one that is safe with fuzz (decision 0010).
    n=0 end=$EXACT_FORMS
    [ "$strategy" != fuzz ] || n=$EXACT_FORMS end=$((EXACT_FORMS + FUZZY_FORMS))
    while [ "$n" -lt "$end" ]; do
      echo "# $strategy, form $n" >>"$OUT/apply.log"
      if "strategy_$strategy" "$IN/candidate.$n"; then
        note strategy "$strategy"
        note variant "$n"
        # What `git apply` took is the patch itself; the others may have put it elsewhere, so it is looked up.
        if [ "$strategy" != git ]; then
          g reset -q 2>/dev/null
          g add -A -N . 2>/dev/null
          g diff --binary HEAD >"$OUT/applied.patch" 2>/dev/null
          pristine_index
          note applied "$(g hash-object --no-filters -- "$OUT/applied.patch")"
        fi
        return 0
      fi
      [ "$strategy" = git ] || pristine
      n=$((n + 1))
    done
  done
  g status --porcelain 2>/dev/null | head -n 20 | sed 's/^/# tree: /' >>"$OUT/apply.log"
  return 1
}
pristine_index() { [ -f "$SAVE/index" ] && cp -p "$SAVE/index" "$INDEX"; return 0; }

# ---- files that steer the tests

steers() {
  if differs "$1" "$2"; then
    put_back "$1" "$2"
    note restored "$1"
  fi
}
differs() {
  if [ -e "$SAVE/$1.absent" ]; then [ -e "$2" ] || [ -L "$2" ]; return; fi
  [ -L "$2" ] || [ -L "$SAVE/$1" ] || [ -d "$2" ] || [ -d "$SAVE/$1" ] || ! cmp -s -- "$SAVE/$1" "$2"
}
# A file of several purposes is put back only when the part that steers tests differs.
mixed() {
  before=
  [ -e "$SAVE/$1.absent" ] || before=$(steering_part "$2" "$SAVE/$1")
  after=
  [ -f "$2" ] && after=$(steering_part "$2" "$2")
  [ "$before" = "$after" ] || steers "$1" "$2"
}
steering_part() { # steering_part NAME FILE
  case $1 in
  *package.json)
    if command -v node >/dev/null 2>&1; then
      node -e '
        const p = JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")), s = p.scripts || {}
        const keys = ["mocha", "jest", "vitest", "ava", "tap", "nyc", "c8", "standard"]
        console.log(JSON.stringify([keys.map(k => p[k]), s.test, s.pretest, s.posttest, s.unit, s["test:unit"]]))
      ' "$2" 2>/dev/null || cat -- "$2"
    else
      cat -- "$2"
    fi
    ;;
  *)
    awk '/^[ \t]*\[/ { inside = ($0 ~ /pytest|unittest|nose|testenv|coverage|tool\][ \t]*$|tool[ \t]*\][ \t]*(#.*)?$/) }
         inside || /pytest|addopts|\\u|\\U/ { print }' "$2"
    ;;
  esac
}

# ---- tests

find_python() {
  for PY in ${PARSIMONY_PYTHON:-} python3 /opt/miniconda3/bin/python3 python; do
    # Asking for the version starts no interpreter: it takes a tenth of the time.
    command -v "$PY" >/dev/null 2>&1 && case $("$PY" --version 2>&1) in
      "Python 3."[6-9]* | "Python 3."[1-9][0-9]*) return 0 ;;
    esac
  done
  return 1
}

run_tests() {
  if [ -x /bin/bash ]; then shell=/bin/bash; else shell=/bin/sh; fi
  status=0
  printf '\n%s start\n' "$NONCE"
  if [ "$WITNESS" != node ] && find_python; then
    note witness python
    "$PY" -I -S -B "$IN/python/witness.py" --secrets "$IN/secrets.json" --report "$OUT/report.json" \
      --timeout "$TIMEOUT" -- "$shell" "$IN/tests.sh" || status=$?
  elif command -v node >/dev/null 2>&1; then
    note witness node
    node "$IN/node/witness.cjs" --secrets "$IN/secrets.json" --report "$OUT/report.json" \
      --timeout "$TIMEOUT" -- "$shell" "$IN/tests.sh" || status=$?
  else
    note witness none
    rm -f "$IN/secrets.json"
    timeout -s KILL "$TIMEOUT" "$shell" "$IN/tests.sh" </dev/null || status=$?
  fi
  printf '\n%s end %s\n' "$NONCE" "$status"
  note exit_status "$status"
}

# report_files.sh calls `report_file PATTERN` for each pattern of report files that the test command writes.
forget_reports() {
  report_file() { find . -path "./$1" -type f -exec rm -f {} + 2>/dev/null; }
  . "$IN/report_files.sh"
}
collect_reports() {
  mkdir -p "$OUT/reports"
  FOUND=0
  report_file() {
    find . -path "./$1" -type f 2>/dev/null | sort | while IFS= read -r file; do
      cp -- "$file" "$OUT/reports/$(printf '%s' "$file" | tr '/ ' '__')"
    done
  }
  . "$IN/report_files.sh"
}

main() {
  phase setup
  . "$IN/settings.sh"
  SAVE=$(mktemp -d "${TMPDIR:-/tmp}/parsimony.XXXXXX") || exit 66
  if [ -f "$IN/base.tar" ]; then
    unpack_tree >&2 || { note problem "the base tree could not be unpacked"; finish 66; }
  else
    cd "$WORKDIR" 2>/dev/null || { note problem "there is no directory $WORKDIR in the image"; finish 66; }
  fi
  g rev-parse --is-inside-work-tree >/dev/null 2>&1 || { note problem "$WORKDIR is not a git work tree"; finish 66; }
  if [ "$EXACT_FORMS$FUZZY_FORMS" != 00 ]; then
    save_touched
    keep_sources
    apply_candidate || { note problem "no strategy could apply the patch"; finish 64; }
    . "$IN/steering.sh"
  fi
  if [ -s "$IN/test.patch" ]; then
    g apply --whitespace=nowarn "$IN/test.patch" 2>>"$OUT/apply.log" ||
      { note problem "the test patch does not apply"; finish 65; }
  fi
  if [ -n "${PARSIMONY_LOOK:-}" ]; then
    echo "This is the tree as it is graded. The tests: /bin/sh $IN/tests.sh" >&2
    exec /bin/sh -i
  fi
  rm -rf "$SAVE" "$IN/settings.sh" "$IN/touched.sh" "$IN/sources.sh" "$IN/steering.sh" "$IN/test.patch" "$IN/base.tar" "$IN"/candidate.*
  forget_reports
  phase tests
  run_tests
  collect_reports
  phase done
  finish 0
}

main "$@"
exit
