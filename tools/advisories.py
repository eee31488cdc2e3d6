#!/usr/bin/env python3
"""Which packages of Cargo.lock have an advisory of the RustSec database that is not mended in their versions.

    tools/advisories.py GIT_DIR_OF_ADVISORY_DB

`cargo deny check advisories` does the same and takes minutes to build; this needs git and Python 3.11 only, and the database as a clone
(`git clone --bare https://github.com/rustsec/advisory-db`). The result is 1 where an advisory holds that is more than a notice."""

import io
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path


def version(text):
    """Numbers of a version; what comes before a release is smaller than it."""
    text = text.strip().split('+')[0]
    core, _, before = text.partition('-')
    numbers = [int(part) for part in core.split('.') if part.isdigit()]
    return (*numbers, *[0] * (3 - len(numbers)), 0 if before else 1, before)


def meets(found, requirement):
    """Whether a version meets all parts of a requirement as `>= 1.2, < 2`."""
    for part in requirement.split(','):
        part = part.strip()
        mark = next((mark for mark in ('>=', '<=', '>', '<', '=', '^', '~') if part.startswith(mark)), '^')
        text = part.removeprefix(mark).strip()
        wanted, numbers = version(text), version(text)[:3]
        if mark in ('^', '~'):
            given = len(text.split('-')[0].split('.'))
            at = next((n for n in range(given) if numbers[n]), given - 1) if mark == '^' else min(given - 1, 1)
            upper = (*numbers[:at], numbers[at] + 1, *[0] * (2 - at))
            fits = wanted <= found and found[:3] < upper
        else:
            fits = {'>=': found >= wanted, '<=': found <= wanted, '>': found > wanted, '<': found < wanted, '=': found == wanted}[mark]
        if not fits:
            return False
    return True


def main():
    lock = tomllib.loads((Path(__file__).parent.parent / 'Cargo.lock').read_text())
    packages = {}
    for package in lock['package']:
        if 'source' in package:
            packages.setdefault(package['name'], []).append(package['version'])
    archive = subprocess.run(['git', '--git-dir', sys.argv[1], 'archive', 'HEAD', 'crates'], check=True, capture_output=True).stdout
    read, found, is_bad = 0, [], False
    for member in tarfile.open(fileobj=io.BytesIO(archive)):
        name = Path(member.name)
        if name.suffix != '.md' or name.parent.name not in packages:
            read += name.suffix == '.md'
            continue
        read += 1
        text = tarfile.open(fileobj=io.BytesIO(archive)).extractfile(member).read().decode()
        front = tomllib.loads(text.split('```toml', 1)[1].split('```', 1)[0])
        advisory, ranges = front['advisory'], front.get('versions', {})
        good = ranges.get('patched', []) + ranges.get('unaffected', [])
        for number in packages[name.parent.name]:
            if 'withdrawn' not in advisory and not any(meets(version(number), wanted) for wanted in good):
                kind = advisory.get('informational', 'vulnerability')
                is_bad |= kind in ('vulnerability', 'unsound')
                title = text.split('\n# ', 1)[1].splitlines()[0] if '\n# ' in text else ''
                found.append(f"{advisory['id']} {kind}: {name.parent.name} {number}: {title}")
    date = subprocess.run(['git', '--git-dir', sys.argv[1], 'log', '-1', '--format=%cs'], check=True, capture_output=True, text=True).stdout.strip()
    print(f'{read} advisories of {date}, {sum(map(len, packages.values()))} packages: {len(found)} hold')
    print('\n'.join(found))
    sys.exit(is_bad)


main()
