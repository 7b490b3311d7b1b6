"""Choose the packages of a frozen server, and those that its vendor offers today.

Arguments: a directory for caches, a date, the number of packages, the packages
that the site will request (a,b,c), then NAME=URL for each repository.

dnf resolves the vendor's server groups, one package at a time, with the builds
before that date, until the server has that number of packages. The vendor
offers the two newest builds of each of them. It also offers every build of the
other dependencies of the requested packages, because the newest build does not
always fit the server. The output is JSON, one object a line.
"""
import json
import os
import sys
import time

import dnf
import dnf.exceptions

GROUPS = ["core", "base", "standard", "headless-management", "hardware-monitoring", "guest-agents", "performance"]
FIRST = ["podman", "runc", "kernel"]


def universe(cache, repositories):
    base = dnf.Base()
    conf = base.conf
    conf.installroot = os.path.join(cache, "root")
    conf.cachedir = conf.persistdir = conf.logdir = cache
    conf.substitutions.update(releasever="9", basearch="x86_64", arch="x86_64")
    conf.module_platform_id = "platform:el9"
    conf.plugins = False
    conf.best = False
    conf.multilib_policy = "best"
    for repository in repositories:
        name, url = repository.split("=", 1)
        base.repos.add_new_repo(name, conf, baseurl=[url])
    base.fill_sack(load_system_repo=False)
    base.read_comps()
    base.sack.add_excludes(base.sack.query().filter(arch="i686"))
    return base


def solve(base, names):
    base.reset(goal=True)
    for name in names:
        base.install(name)
    base.resolve()
    return [t.pkg for t in base.transaction]


def server(base, count):
    """Return the packages of a server that was installed one package at a time."""
    names = set()
    for group in GROUPS:
        found = base.comps.group_by_pattern(group)
        names.update(p.name for p in found.mandatory_packages + found.default_packages)
    seeds, packages = list(FIRST), solve(base, FIRST)
    for name in sorted(names):
        if any(p.name == name for p in packages):
            continue
        try:
            more = solve(base, seeds + [name])
        except (dnf.exceptions.MarkingError, dnf.exceptions.DepsolveError):
            continue  # the metadata does not have some packages
        seeds.append(name)
        packages = more
        if len(packages) >= count:
            return packages
    sys.exit("the repositories have only %d packages for a server" % len(packages))


def write(package, installed):
    def all_of(relations):
        return sorted({str(r) for r in relations if not str(r).startswith("rpmlib(")})

    json.dump({
        "name": package.name, "epoch": package.epoch, "version": package.version, "release": package.release, "arch": package.arch,
        "summary": package.summary, "provides": all_of(package.provides), "requires": all_of(package.requires),
        "conflicts": all_of(package.conflicts), "obsoletes": all_of(package.obsoletes), "files": sorted(package.files),
        "installed": installed,
    }, sys.stdout, sort_keys=True)
    print()


def main():
    cache, date, count, requested = sys.argv[1:5]
    base = universe(cache, sys.argv[5:])
    until = time.mktime(time.strptime(date, "%Y-%m-%d"))
    base.sack.add_excludes([p for p in base.sack.query() if p.buildtime > until and p.reponame != "extra"])
    frozen = server(base, int(count))
    for package in sorted(frozen):
        write(package, True)
    base.sack.reset_excludes()
    base.sack.add_excludes(base.sack.query().filter(arch="i686"))
    installed = {p.name for p in frozen}
    for name in sorted(installed | {p.name for p in solve(base, requested.split(","))}):
        builds = sorted(base.sack.query().filter(name=name))
        for package in builds[-2:] if name in installed else builds:
            write(package, False)


main()
