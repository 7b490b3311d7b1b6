package attack

import (
	"context"
	"fmt"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/scenario/upgrade"
)

// tools is the image that only the second bundle has.
const tools = "quay.io/lab/tools:1.0"

const pushedTree = "/var/lib/airgap/pushed/docker/registry/v2"

// attackRollback plays items 4 and 7 with a bundle that an upgrade installs and a rollback removes.
// The registry's user prepares its directory for airgap rollback, which writes there as root. It
// also stores its own image under a name that only the removed bundle had.
func attackRollback(ctx context.Context, e *scenario.Env, t target, l *lab.Lab) []scenario.Part {
	u := upgrade.Upgrading{E: e, L: l, Edits: append(secondWorker(), "  ignorePreflightErrors:", "  audit: {maxAge: 7}\n  ignorePreflightErrors:")}
	return []scenario.Part{
		{Title: "another bundle, from the servers' present state", Run: func() error { return u.NextBundle(ctx) }},
		{Title: "an upgrade is killed before it changes a host", Run: func() error { return u.KilledDuring(ctx, 0, "prepare") }},
		{Title: "a push that uses layers of the new bundle", Run: func() error { return pushOverTools(ctx, e, t) }},
		{Title: "the registry's user prepares its directory for a rollback", Run: func() error { return trapRollback(ctx, e, t.first) }},
		{Title: "airgap rollback writes through no link of the registry's user", Run: func() error { return rollbackOverTraps(ctx, e, t.first) }},
		{Title: "a name of a removed bundle is not served from a push", Run: func() error { return pushedInThePlaceOfOne(ctx, e, t) }},
		{Title: "the attacker's links and images are removed", Run: func() error {
			return e.Script(ctx, t.first, `
find `+pushedTree+`/blobs/sha256 -maxdepth 1 -type l -delete
rm -r `+pushedTree+`/repositories/quay.io `+pushedTree+`/repositories/team-a/tools /srv/trap
systemctl restart airgap-registry`)
		}},
	}
}

// pushOverTools pushes an image. The bundle has all of its layers.
func pushOverTools(ctx context.Context, e *scenario.Env, t target) error {
	const push = `set -e
export SSL_CERT_FILE=/etc/airgap/pki/ca.crt DOCKER_CONFIG=/run/crane.login
trap 'rm -rf /run/crane.login' EXIT
/run/crane auth login "$0" -u "$1" --password-stdin
/run/crane mutate "$0/` + tools + `" --label attack=yes -t "$0/team-a/tools:1"
`
	r, err := e.On(ctx, t.worker, e.PusherPassword, "sh", "-c", push, t.first.Addr().String()+":5000", scenario.Pusher)
	if err != nil {
		return err
	}
	return r.Want("a push over the new bundle's image", 0)
}

// trapRollback replaces the parent directories of the blobs that a rollback keeps by links to a
// directory of root. It also copies the pushed image to the name of the bundle's image.
func trapRollback(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	return e.Script(ctx, m, `set -e
install -d -m 0700 /srv/trap
manifest=$(curl -sf --cacert /etc/airgap/pki/ca.crt -H 'Accept: application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json' https://`+m.Addr().String()+`:5000/v2/team-a/tools/manifests/1)
links=0
for digest in $(echo "$manifest" | grep -o 'sha256:[0-9a-f]*' | cut -d : -f 2); do
	dir=`+pushedTree+`/blobs/sha256/$(echo "$digest" | cut -c 1-2)
	test -e "$dir" && continue
	runuser -u airgap -- ln -s /srv/trap "$dir"
	links=$((links + 1))
done
test $links -ge 1
runuser -u airgap -- mkdir -p `+pushedTree+`/repositories/quay.io/lab
runuser -u airgap -- cp -r `+pushedTree+`/repositories/team-a/tools `+pushedTree+`/repositories/quay.io/lab/tools
cd `+pushedTree+`/repositories/quay.io/lab/tools/_manifests/tags && runuser -u airgap -- mv 1 1.0`)
}

func rollbackOverTraps(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	r, err := e.On(ctx, m, "", "timeout", "300", "airgap", "rollback", "--yes", scenario.LabSkips, "--progress", "plain")
	if err != nil {
		return err
	}
	if err := r.Want("airgap rollback over planted links", 0, "rolled back to", "keep the blobs of pushed image", "a symbolic link leads out of /var/lib/airgap/pushed"); err != nil {
		return err
	}
	return e.Script(ctx, m, `test -z "$(ls -A /srv/trap)" && test "$(stat -c '%U:%G %a' /srv/trap)" = 'root:root 700'`)
}

// pushedInThePlaceOfOne requests the removed image by both of its URLs: the registry must not
// serve the pushed image under its name, and must report that.
func pushedInThePlaceOfOne(ctx context.Context, e *scenario.Env, t target) error {
	const gone = `code=$(curl -s --retry 10 --retry-connrefused -o /dev/null -w '%%{http_code}' --cacert /etc/airgap/pki/ca.crt 'https://%s:5000/v2/%s')
test "$code" = 404 || { echo "it answers $code" >&2; exit 1; }`
	return e.Script(ctx, t.first,
		fmt.Sprintf(gone, t.first.Addr(), "quay.io/lab/tools/manifests/1.0"),
		fmt.Sprintf(gone, t.first.Addr(), "lab/tools/manifests/1.0?ns=quay.io"),
		`journalctl -u airgap-registry --output cat | grep '"msg":"pushed images are not served: their names are reserved for bundles"' | tail -n 1 | grep -q quay.io/lab/tools`,
		"airgap verify --only registries --timeout 30s 2>&1 | grep -A1 quay.io/lab/tools | grep -q 'does not serve the images that were pushed to it'")
}
