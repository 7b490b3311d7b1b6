package scenario

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// Pusher is the site's user with push access to the registries.
const Pusher = "ci"

// Pushers gives Pusher push access to the registries of these hosts.
func Pushers(ctx context.Context, e *Env, hosts ...lab.Machine) error {
	e.PusherPassword = rand.Text()
	if err := e.Book.Add(secrets.Password, "of "+Pusher, e.PusherPassword); err != nil {
		return err
	}
	for _, m := range hosts {
		r, err := e.On(ctx, m, e.PusherPassword+"\n", "airgap", "registry", "passwd", Pusher)
		if err == nil {
			err = errors.Join(r.Want("passwd", 0, Pusher+" may push"), e.Script(ctx, m, `test "$(stat -c '%a %G' /etc/airgap/registry.htpasswd)" = '640 airgap'`))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// PushOwn pushes an image of the site to the registry of one host. It is based on an image of
// the bundle. The site's tool, crane, runs on another server.
func PushOwn(ctx context.Context, e *Env, to, from lab.Machine, tag string) error {
	if err := InstallCrane(ctx, e, from); err != nil {
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
grep -q 'reserved for bundles' /run/crane.log
`
	r, err := e.On(ctx, from, e.PusherPassword, "sh", "-c", push, to.Addr().String()+":5000", tag, Pusher)
	if err != nil {
		return err
	}
	return r.Want("push to "+to.Name(), 0)
}

// InstallCrane copies crane to a server, at /run/crane.
func InstallCrane(ctx context.Context, e *Env, m lab.Machine) error {
	crane, err := Crane(ctx, e)
	if err != nil {
		return err
	}
	program, err := os.Open(crane)
	if err != nil {
		return err
	}
	defer program.Close()
	return lab.PutFile(ctx, m, "/run/crane", 0o755, program)
}

// manyPulls is the number of parallel image pulls during a power cut.
const manyPulls = 20

// PushBig copies crane to a server and pushes images of 12 MB each, which share only their
// base layer.
func PushBig(ctx context.Context, e *Env, to, from lab.Machine, count int) error {
	if err := InstallCrane(ctx, e, from); err != nil {
		return err
	}
	const push = `set -e
export SSL_CERT_FILE=/etc/airgap/pki/ca.crt DOCKER_CONFIG=/run/crane.login
trap 'rm -rf /run/crane.login /run/big /run/big.tar' EXIT
/run/crane auth login "$0" -u "$2" --password-stdin
for i in $(seq "$1"); do
	head -c 12000000 /dev/urandom >/run/big
	sha256sum </run/big | cut -d ' ' -f 1 >/run/big$i.sum
	tar -C /run -cf /run/big.tar big
	/run/crane append --base "$0/docker.io/library/hello:1.0" --new_layer /run/big.tar --new_tag "$0/team/hello:big$i" >/dev/null
done
/run/crane tag "$0/team/hello:big$1" "$1"
`
	r, err := e.On(ctx, from, e.PusherPassword, "sh", "-c", push, to.Addr().String()+":5000", strconv.Itoa(count), Pusher)
	if err != nil {
		return err
	}
	return r.Want("push to "+to.Name(), 0)
}

// surviveLossDuringPulls cuts the power of a registry host while its network is busy with pulls, and
// checks that every pod runs in time.
func surviveLossDuringPulls(ctx context.Context, e *Env, l *lab.Lab, dead, by lab.Machine) error {
	for _, m := range []lab.Machine{l.Machines[0], dead} { // the first registries of the two workers
		if err := l.Slow(ctx, m, "40mbit"); err != nil {
			return err
		}
	}
	var pods strings.Builder
	for i := range manyPulls {
		fmt.Fprintf(&pods, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: big%[1]d, labels: {app: big}}\nspec:\n  containers: [{name: hello, image: '%[2]s:5000/team/hello:big%[1]d'}]\n", i+1, l.Machines[0].Addr())
	}
	r, err := e.On(ctx, by, pods.String(), "sh", "-c", Kubectl+"create --validate=false -f -")
	if err == nil {
		err = r.Want("create the pods", 0)
	}
	if err != nil {
		return err
	}
	const pulling = Kubectl + `get events --field-selector reason=Pulling -o jsonpath='{range .items[*]}{.involvedObject.name}{"\n"}{end}' | grep -c ^big`
	const running = Kubectl + `get pods -l app=big --field-selector status.phase=Running -o name | wc -l`
	const most = manyPulls * 3 / 4 // a pod that starts late must not delay the test
	if err := e.Script(ctx, by, fmt.Sprintf(`for i in $(seq 60); do test "$(%s)" -ge %d && exit; sleep 0.5; done; exit 1`, pulling, most)); err != nil {
		return fmt.Errorf("wait for %d parallel pulls: %w", most, err)
	}
	time.Sleep(3 * time.Second) // until the download of layers has started
	pending, err := lab.Output(ctx, by, "sh", "-c", fmt.Sprintf("echo $(($(%s) - $(%s)))", pulling, running))
	if err != nil {
		return err
	}
	if err := dead.Kill(ctx); err != nil {
		return err
	}
	began := time.Now()
	if n, err := strconv.Atoi(pending); err != nil || n < manyPulls/2 {
		return fmt.Errorf("got %q of %d pulls in progress at the power cut of %s, want at least half", pending, manyPulls, dead.Name())
	}
	r, err = e.On(ctx, by, "", "sh", "-c", Kubectl+"wait pod -l app=big --for=condition=Ready --timeout=120s")
	if err != nil {
		return err
	}
	if err := r.Want("pods with interrupted pulls", 0); err != nil {
		return errors.Join(err, e.Script(ctx, by, Kubectl+"get events --sort-by=.lastTimestamp >&2; exit 1"))
	}
	fmt.Fprintf(e.Log, "ha: %d pods run %.1f s after the power cut of %s during %s of their pulls\n", manyPulls, time.Since(began).Seconds(), dead.Name(), pending)
	return errors.Join(within(began, haPodsLimit, "pods with interrupted pulls"), e.Script(ctx, by, Kubectl+"delete pod -l app=big --now"))
}

// OnAll checks that the pushed image is on the registries of all these hosts within 30 s.
func OnAll(ctx context.Context, e *Env, tag string, hosts ...lab.Machine) error {
	for _, m := range hosts {
		url := fmt.Sprintf("https://%s:5000/v2/team/hello/manifests/%s", m.Addr(), tag)
		if err := e.Script(ctx, m, "for i in $(seq 30); do curl --silent --fail --output /dev/null --cacert /etc/airgap/pki/ca.crt "+url+" && exit; sleep 1; done; exit 1"); err != nil {
			return fmt.Errorf("team/hello:%s on %s: %w", tag, m.Name(), err)
		}
	}
	return nil
}

// lagOf checks that status reports that this host cannot follow another host's registry.
func lagOf(ctx context.Context, e *Env, m, away lab.Machine) error {
	r, err := e.Must(ctx, m, nil, "airgap", "status")
	if err == nil && !strings.Contains(r.Stdout, "cannot follow "+away.Addr().String()+":5000") {
		err = fmt.Errorf("status on %s does not report that %s is unreachable:\n%s", m.Name(), away.Name(), r.Stdout)
	}
	return err
}
