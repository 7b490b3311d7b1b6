package scenario

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// pusher is the site's user who may push to the registries.
const pusher = "ci"

// pushers lets the site's user push to the registries of these hosts.
func (e *Env) pushers(ctx context.Context, hosts ...lab.Machine) error {
	e.pusherPassword = rand.Text()
	if err := e.book.Add(secrets.Password, "of "+pusher, e.pusherPassword); err != nil {
		return err
	}
	for _, m := range hosts {
		r, err := e.On(ctx, m, e.pusherPassword+"\n", "airgap", "registry", "passwd", pusher)
		if err == nil {
			err = errors.Join(r.want("passwd", 0, pusher+" may push"), e.script(ctx, m, `test "$(stat -c '%a %G' /etc/airgap/registry.htpasswd)" = '640 airgap'`))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pushOwn pushes an image of the site's own, made of one that a bundle brought,
// to the registry of one host. The site's tool runs on another server.
func (e *Env) pushOwn(ctx context.Context, to, from lab.Machine, tag string) error {
	crane, err := e.Crane(ctx)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(crane)
	if err != nil {
		return err
	}
	r, err := e.On(ctx, from, string(program), "sh", "-c", "cat >/run/crane && chmod 755 /run/crane")
	if err == nil {
		err = r.want("bring crane", 0)
	}
	if err != nil {
		return err
	}
	const push = `set -e
export SSL_CERT_FILE=/etc/airgap/pki/ca.crt DOCKER_CONFIG=/run/crane.login
trap 'rm -rf /run/crane.login' EXIT
push() { /run/crane mutate "$0/docker.io/library/hello:1.0" --label "site=own $tag" -t "$0/$1"; }
tag=$1
if push "team/hello:$tag" 2>/dev/null; then echo 'pushed without a password' >&2; exit 1; fi
/run/crane auth login "$0" -u "$2" --password-stdin
push "team/hello:$tag"
if push docker.io/library/hello:1.0 2>/run/crane.log; then echo "pushed over a bundle's tag" >&2; exit 1; fi
grep -q 'came with a bundle' /run/crane.log
`
	r, err = e.On(ctx, from, e.pusherPassword, "sh", "-c", push, to.Addr().String()+":5000", tag, pusher)
	if err != nil {
		return err
	}
	return r.want("push to "+to.Name(), 0)
}

// onAll wants the pushed image on the registries of all these hosts soon.
func (e *Env) onAll(ctx context.Context, tag string, hosts ...lab.Machine) error {
	for _, m := range hosts {
		url := fmt.Sprintf("https://%s:5000/v2/team/hello/manifests/%s", m.Addr(), tag)
		if err := e.script(ctx, m, "for i in $(seq 30); do curl --silent --fail --output /dev/null --cacert /etc/airgap/pki/ca.crt "+url+" && exit; sleep 1; done; exit 1"); err != nil {
			return fmt.Errorf("team/hello:%s on %s: %w", tag, m.Name(), err)
		}
	}
	return nil
}

// lagOf wants status to say that this host cannot follow another one's registry.
func (e *Env) lagOf(ctx context.Context, m, away lab.Machine) error {
	r, err := e.must(ctx, m, nil, "airgap", "status")
	if err == nil && !strings.Contains(r.Stdout, "cannot follow "+away.Addr().String()+":5000") {
		err = fmt.Errorf("status on %s does not say that %s is away:\n%s", m.Name(), away.Name(), r.Stdout)
	}
	return err
}
