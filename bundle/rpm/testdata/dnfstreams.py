"""Print the packages of module streams that dnf shows, as one JSON list per case.

Arguments: a directory for caches, then two for each case: the installed root and
the directory of its repository.
"""
import json
import sys

import dnf


def shown(root, cache, repository):
    base = dnf.Base()
    conf = base.conf
    conf.installroot = root
    conf.cachedir = conf.persistdir = conf.logdir = cache
    conf.substitutions["releasever"] = "9"
    conf.substitutions["basearch"] = "x86_64"
    conf.module_platform_id = "platform:el9"
    conf.plugins = False
    base.repos.add_new_repo("one", conf, baseurl=["file://" + repository])
    base.fill_sack()
    packages = base.sack.query().available().filter(release__glob="*.module*")
    return sorted("%s-%s" % (p.name, p.version) for p in packages)


for at in range(2, len(sys.argv), 2):
    print(json.dumps(shown(sys.argv[at], sys.argv[1] + "/%d" % at, sys.argv[at + 1])), flush=True)
