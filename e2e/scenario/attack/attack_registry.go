package attack

import (
	"context"
	"crypto/rand"

	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/secrets"
)

// attackRegistry plays item 7: pushes to the names of a bundle's images.
func attackRegistry(ctx context.Context, e *scenario.Env, t target) []scenario.Part {
	return []scenario.Part{
		{Title: "a user may push only below team-a", Run: func() error { return limitedPusher(ctx, e, t) }},
		{Title: "pushes in the place of a bundle's images", Run: func() error { return pushesAsUpstream(ctx, e, t) }},
		{Title: "the refused pushes are in the journal", Run: func() error {
			return e.Script(ctx, t.first,
				`journalctl -u airgap-registry --output cat | grep '"msg":"push refused"' | grep -q '"repository":"registry.k8s.io/pause"'`,
				`journalctl -u airgap-registry --output cat | grep '"msg":"push refused"' | grep -q '"repository":"team-b/hello"'`)
		}},
	}
}

func limitedPusher(ctx context.Context, e *scenario.Env, t target) error {
	e.PusherPassword = rand.Text()
	if err := e.Book.Add(secrets.Password, "of "+scenario.Pusher, e.PusherPassword); err != nil {
		return err
	}
	r, err := e.On(ctx, t.first, e.PusherPassword+"\n", "airgap", "registry", "passwd", scenario.Pusher, "--prefix", "registry.k8s.io/")
	if err == nil {
		err = r.Want("a prefix that is reserved", 1, "reserved for bundles")
	}
	if err != nil {
		return err
	}
	r, err = e.On(ctx, t.first, e.PusherPassword+"\n", "airgap", "registry", "passwd", scenario.Pusher, "--prefix", "team-a/")
	if err != nil {
		return err
	}
	return r.Want("passwd", 0, "below team-a/")
}

// pushesAsUpstream pushes from a worker with a stolen password.
func pushesAsUpstream(ctx context.Context, e *scenario.Env, t target) error {
	if err := scenario.InstallCrane(ctx, e, t.worker); err != nil {
		return err
	}
	const push = `set -e
export SSL_CERT_FILE=/etc/airgap/pki/ca.crt DOCKER_CONFIG=/run/crane.login
trap 'rm -rf /run/crane.login /run/crane.log' EXIT
/run/crane auth login "$0" -u "$1" --password-stdin
push() { /run/crane mutate "$0/docker.io/library/hello:1.0" --label attack=yes -t "$0/$1"; }
refused() {
	if push "$1" 2>/run/crane.log; then echo "pushed to $1" >&2; exit 1; fi
	grep -q "$2" /run/crane.log || { cat /run/crane.log >&2; exit 1; }
}
push team-a/hello:1
refused registry.k8s.io/pause:attack 'reserved for bundles'
refused docker.io/library/hello:1.0 'reserved for bundles'
refused docker.io/library/hello:attack 'reserved for bundles'
refused mirror_5000/hello:1 'reserved for bundles'
refused team-b/hello:1 'may push only to names below team-a/'
refused team-ab/hello:1 'may push only to names below team-a/'
if /run/crane copy "$0/team-a/hello:1" "$0/team-b/hello:1" 2>/run/crane.log; then echo 'copied out of the prefix' >&2; exit 1; fi
`
	r, err := e.On(ctx, t.worker, e.PusherPassword, "sh", "-c", push, t.first.Addr().String()+":5000", scenario.Pusher)
	if err != nil {
		return err
	}
	return r.Want("pushes to "+t.first.Name(), 0)
}
