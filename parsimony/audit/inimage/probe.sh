# Looks at the base tree of a task and at everything around it that could hold the answer. POSIX sh and git; changes
# nothing. parsimony.audit.probe puts settings and calls before and after this text and reads the lines that `say` prints.
#
# Settings: IN_IMAGE (1 where the root of the file system is the task's image). $T/fix.patch: the task's own fix;
# $T/lines: the lines that it adds and that are not trivial.

LC_ALL=C
export LC_ALL
MOST_BLOBS=20000
MOST_COPIES=50

say() { printf 'parsimony-probe %s\n' "$*"; }

g() {
  GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
    GIT_NO_LAZY_FETCH=1 GIT_OPTIONAL_LOCKS=0 git "$@"
}

if printf 'x\n' | grep -aq x 2>/dev/null; then TEXT=-a; else TEXT=; fi

# ---- files of the base tree: `file N PATH`, at most 1 MiB each

file() {
  [ -f "$2" ] && [ ! -L "$2" ] || return 0
  if [ -n "$(find "./$2" -size +2048 2>/dev/null)" ]; then
    say large "$1"
  else
    printf 'parsimony-probe file %s ' "$1"
    base64 <"./$2" | tr -d '\n'
    echo
  fi
}

# ---- the state that every grading starts from

look_at_tree() {
  say head "$(g rev-parse HEAD 2>/dev/null)"
  say tree "$({
    g rev-parse 'HEAD^{tree}'
    g status --porcelain --ignored
    g diff HEAD | head -c 4000000
  } 2>/dev/null | g hash-object --stdin)"
}

# ---- the objects of the repository

look_at_objects() {
  g cat-file --batch-all-objects --batch-check='%(objecttype) %(objectname) %(objectsize)' >"$T/all" 2>"$T/err" || {
    say problem "the objects of the repository cannot be listed: $(head -n 1 "$T/err")"
    return
  }
  g rev-list --objects HEAD 2>/dev/null | cut -d' ' -f1 | sort -u >"$T/own"
  awk '$1 == "commit" { print $2 }' "$T/all" | sort -u | comm -23 - "$T/own" >"$T/commits"
  say commits "$(wc -l <"$T/commits")"
  : >"$T/later"
  if [ -s "$T/commits" ]; then
    base_time=$(g log -1 --format=%ct HEAD)
    g log --no-walk=unsorted --stdin --format='%ct %H %s' <"$T/commits" 2>/dev/null |
      awk -v base="$base_time" '$1 >= base' | sort -n >"$T/later"
  fi
  say later_count "$(wc -l <"$T/later")"
  head -n 5 "$T/later" | while IFS= read -r line; do say later "$line"; done
  awk '$1 == "blob" && $3 <= 1048576 { print $2 }' "$T/all" | sort -u | comm -23 - "$T/own" >"$T/blobs"
  say blobs "$(wc -l <"$T/blobs")"
  [ "$(wc -l <"$T/blobs")" -le "$MOST_BLOBS" ] || say problem "only $MOST_BLOBS of the blobs outside of HEAD were read"
  say blob_lines "$(head -n "$MOST_BLOBS" "$T/blobs" | g cat-file --batch 2>/dev/null | told)"
}

# How many of the distinct lines of the fix stand in the input.
told() {
  if [ -s "$T/lines" ]; then grep $TEXT -Fxof "$T/lines" | sort -u | wc -l; else cat >/dev/null; echo 0; fi
}

# ---- the fix itself: `before N PATH` for each file that it reads, then `after N PATH` for each that it leaves

before() {
  [ -f "$2" ] || return 0
  case $2 in */*) mkdir -p "$T/fix/${2%/*}" ;; esac
  cp -- "./$2" "$T/fix/$2" && cat "./$2" >>"$T/base"
}

apply_fix() {
  (cd "$T/fix" && unset GIT_DIR && GIT_CEILING_DIRECTORIES=$T git apply --whitespace=nowarn "$T/fix.patch") 2>"$T/err" ||
    say problem "the fix does not apply outside of the repository: $(head -n 1 "$T/err")"
  # A line that the base has as well tells nothing.
  if [ -s "$T/base" ]; then
    grep $TEXT -Fxvf "$T/base" "$T/lines" >"$T/fresh"
    mv -f "$T/fresh" "$T/lines"
  fi
  say lines "$(sort -u "$T/lines" | wc -l)"
}

after() {
  [ -f "$T/fix/$2" ] && [ -f "$T/own" ] || return 0
  name=$(g hash-object --no-filters "$T/fix/$2")
  [ ! -f "./$2" ] || [ "$(g hash-object --no-filters "./$2")" != "$name" ] || return 0
  if grep -qx "$name" "$T/own"; then
    say fix "$1 own $name"
  elif g cat-file -e "$name" 2>/dev/null; then
    say fix "$1 stray $name"
  else
    say fix "$1 absent $name"
  fi
}

# ---- copies: `copies N PATH` looks outside of the work tree for files of that name that hold all the lines of the fix

whole() { [ -s "$T/lines" ] && [ "$(told <"$1")" -eq "$(sort -u "$T/lines" | wc -l)" ]; }

copies() {
  [ "$IN_IMAGE" = 1 ] && [ -s "$T/lines" ] || return 0
  here=$(pwd -P)
  find / -xdev -type f -name "${2##*/}" ! -path "$here/*" ! -path "$T/*" ! -path '/proc/*' ! -path '/sys/*' 2>/dev/null |
    head -n "$MOST_COPIES" | while IFS= read -r path; do
    if whole "$path"; then say copy "$path"; fi
  done
}

look_at_work_tree() {
  [ -s "$T/lines" ] || return 0
  grep -rlFxf "$T/lines" . 2>/dev/null | grep -v '^\./\.git/' | head -n "$MOST_COPIES" | while IFS= read -r path; do
    if whole "$path"; then say twin "${path#./}"; fi
  done
}
