"""Resolve requests with dnf: one JSON object per line, one answer per line.

Arguments: the installed root, a directory for caches, then NAME=URL for each
repository. A request is {"install": [...]}. The answer has the packages of a
transaction that only adds packages, or the problem. Packages that would replace
an installed package are excluded.
"""
import json
import sys

import dnf
import dnf.exceptions
import dnf.subject


def prepare(root, cache, repositories):
    base = dnf.Base()
    conf = base.conf
    conf.installroot = root
    conf.cachedir = conf.persistdir = conf.logdir = cache
    conf.substitutions["releasever"] = "9"
    conf.substitutions["basearch"] = "x86_64"
    conf.substitutions["arch"] = "x86_64"
    conf.module_platform_id = "platform:el9"
    conf.install_weak_deps = False
    conf.best = False
    conf.protected_packages = []
    conf.plugins = False
    conf.multilib_policy = "best"
    for repository in repositories:
        name, url = repository.split("=", 1)
        base.repos.add_new_repo(name, conf, baseurl=[url])
    base.fill_sack()
    query = base.sack.query()
    installed, available = query.installed(), query.available()
    several = available.filter(provides=list(conf.installonlypkgs))
    names = {}
    for p in installed:
        names.setdefault(p.arch, []).append(p.name)
    for arch, same in names.items():
        replaced = available.filter(name=same)
        if arch != "noarch":  # lib.x86_64 is installed next to lib.i686
            replaced = replaced.filter(arch=[arch, "noarch"])
        base.sack.add_excludes(replaced.difference(several))
    base.sack.add_excludes(available.filter(obsoletes=installed))
    base.sack.add_excludes(available.filter(arch="i686"))
    return base


def mark(base, spec):
    """Mark a pattern. Excluded packages do not hide that an installed one fulfils it."""
    try:
        base.install(spec)
    except dnf.exceptions.MarkingError:
        if not dnf.subject.Subject(spec).get_best_query(base.sack).installed():
            raise


def solve(base, request):
    base.reset(goal=True)
    try:
        for spec in request["install"]:
            mark(base, spec)
        base.resolve()
    except (dnf.exceptions.MarkingError, dnf.exceptions.DepsolveError) as e:
        return {"ok": False, "problem": str(e)}
    changes = [t for t in base.transaction] if base.transaction else []
    bad = [str(t.pkg) for t in changes if t.action != dnf.transaction.PKG_INSTALL]
    if bad:
        return {"ok": False, "problem": "would change " + ", ".join(bad)}
    names = ["%s-%d:%s-%s.%s" % (p.name, p.epoch, p.version, p.release, p.arch) for p in (t.pkg for t in changes)]
    return {"ok": True, "packages": sorted(names)}


def main():
    base = prepare(sys.argv[1], sys.argv[2], sys.argv[3:])
    for line in sys.stdin:
        print(json.dumps(solve(base, json.loads(line))), flush=True)


main()
