package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/e2e/lab"
)

// Vip is the address of the load balancer in front of the API servers.
var Vip = netip.MustParseAddr("10.88.0.5")

// Limits on two cores.
const (
	haInstallLimit = 8 * time.Minute // five servers, from the stick to the end of verify
	haPodsLimit    = time.Minute     // new pods, after the power cut of a control-plane host
)

// HaEdits change the lab's airgap.yaml to three control-plane hosts and two workers.
func HaEdits() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(Vip, 6443).String(),
		"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", `  - {name: node2, address: 10.88.0.12, roles: [control-plane]}
  - {name: node3, address: 10.88.0.13, roles: [control-plane]}
  - {name: node4, address: 10.88.0.14, roles: [worker]}
  - {name: node5, address: 10.88.0.15, roles: [worker]}
ssh:
  identityFile: ~/.ssh/bank
`,
	}
}

// Ha cuts the power of each control-plane host in turn, beginning with the first one, and
// then of all hosts at once.
func Ha(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 5, func(l *lab.Lab) error {
		first, second, third := l.Machines[0], l.Machines[1], l.Machines[2]
		stop, err := l.Balance(ctx, Vip, 6443, first, second, third)
		if err != nil {
			return err
		}
		defer stop() // the balancer also ends with this process
		var began time.Time
		return e.InOrder([]Part{
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.MakeBundle(ctx, stick, HaEdits()...) }},
			{"keys for the first host", func() error { return e.AuthorizeKeys(ctx, first, l.Machines[1:]...) }},
			{"one command, five servers", func() error { began = time.Now(); return InstallAll(ctx, e, first, stick, 5) }},
			{"verify", func() error { return e.Verified(ctx, first) }},
			{"time limit of the install", func() error { return within(began, haInstallLimit, "five servers from the stick to the end of verify") }},
			{"the control plane", func() error { return ThreeOfAll(ctx, e, l.Machines[:3]) }},
			{"push an image of the site", func() error {
				return errors.Join(Pushers(ctx, e, l.Machines[:3]...), PushOwn(ctx, e, first, l.Machines[3], "1"), OnAll(ctx, e, "1", l.Machines[:3]...))
			}},
			{"the key of the Secrets is rotated", func() error { return rotatedOnAll(ctx, e, l.Machines[:3]) }},
			{"a used join token", func() error { return usedCode(ctx, e, first, l.Machines[3]) }},
			{"a worker is removed", func() error { return removeNode(ctx, e, second, l.Machines[4]) }},
			{"power cut of the first host", func() error { return surviveLoss(ctx, e, first, second, 1, first.Addr().String()+":5000/team/hello:1") }},
			{"an image is pushed without it", func() error {
				return errors.Join(PushOwn(ctx, e, second, l.Machines[3], "2"), OnAll(ctx, e, "2", second, third), lagOf(ctx, e, second, first))
			}},
			{"a worker joins without it", func() error { return JoinOne(ctx, e, second, l.Machines[4]) }},
			{"the first host is back", func() error { return startAgain(ctx, e, first, second) }},
			{"it has the pushed image", func() error { return OnAll(ctx, e, "2", first) }},
			{"power cut of the third host", func() error { return surviveLoss(ctx, e, third, first, 2, "hello:1.0") }},
			{"the third host is back", func() error { return startAgain(ctx, e, third, first) }},
			{"push twenty images", func() error {
				return errors.Join(PushBig(ctx, e, first, l.Machines[3], manyPulls), OnAll(ctx, e, "20", l.Machines[:3]...))
			}},
			{"power cut of the second host during pulls", func() error { return surviveLossDuringPulls(ctx, e, l, second, third) }},
			{"the second host is back", func() error { return startAgain(ctx, e, second, first) }},
			{"the first host is reset", func() error { return errors.Join(removeNode(ctx, e, third, first), wiped(ctx, e, first)) }},
			{"it cannot start a second cluster", func() error { return noSecondCluster(ctx, e, first, stick) }},
			{"a worker's token for a control plane", func() error { return wrongCode(ctx, e, third, first) }},
			{"the first host joins the others", func() error { return JoinOne(ctx, e, third, first) }},
			{"its registry fills itself", func() error { return OnAll(ctx, e, "2", first) }},
			{"a cold start", func() error { return coldStart(ctx, e, l) }},
		})
	})
}

func within(began time.Time, limit time.Duration, what string) error {
	if took := time.Since(began); took > limit {
		return fmt.Errorf("%s took %.0f s, want at most %.0f s", what, took.Seconds(), limit.Seconds())
	}
	return nil
}

// AuthorizeKeys creates an SSH key for root on one server, authorizes it on the others, and adds
// their host keys to its known_hosts.
func (e *Env) AuthorizeKeys(ctx context.Context, first lab.Machine, others ...lab.Machine) error {
	key, err := newKey(ctx, e, first)
	if err != nil {
		return err
	}
	for _, m := range others {
		host, err := lab.Output(ctx, m, "cat", "/etc/ssh/ssh_host_ed25519_key.pub")
		if err != nil {
			return err
		}
		if err := errors.Join(e.Script(ctx, m, Authorize("/root", key, "root")),
			e.Script(ctx, first, fmt.Sprintf("echo '%s %s' >>/root/.ssh/known_hosts", m.Addr(), host))); err != nil {
			return err
		}
	}
	return nil
}

// InstallAll installs all servers with one command on the first one.
func InstallAll(ctx context.Context, e *Env, first lab.Machine, stick string, servers int) error {
	if err := e.InstallProgram(ctx, first, stick); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", InstallOverSSH()...)
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stderr)
	return r.Want("install", 0, fmt.Sprintf("the cluster is verified: %d nodes", servers))
}

// wiped deletes the data that a reset has kept.
func wiped(ctx context.Context, e *Env, m lab.Machine) error {
	_, err := e.Must(ctx, m, []string{"/var/lib/airgap/pushed"}, "airgap", "reset", "--yes", "--wipe-data")
	return err
}

// noSecondCluster runs install on the first host after its removal from the cluster.
// Install must refuse that.
func noSecondCluster(ctx context.Context, e *Env, first lab.Machine, stick string) error {
	if err := first.AttachStick(ctx, stick); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", "airgap", "install", "--no-ssh", LabSkips, lab.StickPath+"/bank")
	if err != nil {
		return err
	}
	if err := r.Want("install behind a live balancer", 3, "an API server answers at 10.88.0.5:6443", "airgap join here"); err != nil {
		return err
	}
	return errors.Join(e.Script(ctx, first, "! test -e /var/lib/airgap/journal.jsonl"), first.PullStick(ctx))
}

// wrongCode joins a control-plane host with a worker's token: join refuses that before it
// changes anything.
func wrongCode(ctx context.Context, e *Env, by, m lab.Machine) error {
	line, err := e.JoinLine(ctx, by, "node4")
	if err != nil {
		return err
	}
	r, err := e.On(ctx, m, line.Code+"\n", append([]string{"airgap"}, e.JoinArgs(line)...)...)
	if err != nil {
		return err
	}
	if err := r.Want("join with a worker's token", 1, "the join token is a worker's", "--new-token"); err != nil {
		return err
	}
	return e.Script(ctx, m, "! test -e /var/lib/airgap/journal.jsonl")
}

// JoinOne joins a server that has airgap.rpm, with the command that another server prints.
func JoinOne(ctx context.Context, e *Env, by, m lab.Machine) error {
	line, err := e.JoinLine(ctx, by, m.Name())
	if err != nil {
		return err
	}
	joined, err := e.AirgapOn(ctx, m, line.Code+"\n", e.JoinArgs(line)...)
	if err == nil && joined.Changed == 0 {
		err = fmt.Errorf("join reports %+v", joined)
	}
	return err
}

// ThreeOfAll checks that each host has the registry with its CA, the API server and a member
// of etcd.
func ThreeOfAll(ctx context.Context, e *Env, machines []lab.Machine) error {
	for _, m := range machines {
		if err := e.Script(ctx, m,
			"systemctl is-active --quiet airgap-registry",
			"test \"$(stat -c %a /etc/airgap/pki/ca.key)\" = 600",
			"curl --silent --fail --cacert /etc/airgap/pki/ca.crt https://"+m.Addr().String()+":5000/healthz | grep -q bank",
			"curl --silent --fail --cacert /etc/kubernetes/pki/ca.crt https://"+m.Addr().String()+":6443/readyz",
			"grep -c '^.host' /etc/containerd/certs.d/_default/hosts.toml | grep -qx 3",
			"sed -n 3p /etc/containerd/certs.d/_default/hosts.toml | grep -q "+m.Addr().String(),
		); err != nil {
			return err
		}
	}
	if err := sameKeys(ctx, e, machines); err != nil {
		return err
	}
	if err := Members(ctx, e, machines[0], 3); err != nil {
		return err
	}
	return e.Script(ctx, machines[0], `test "$(`+Kubectl+`-n kube-system get pods -l k8s-app=kube-dns -o jsonpath='{.items[*].spec.nodeName}' | tr ' ' '\n' | sort -u | wc -l)" = 2`)
}

// sameKeys checks that every API server can read the Secrets that the other ones wrote.
func sameKeys(ctx context.Context, e *Env, machines []lab.Machine) error {
	for i, m := range machines {
		if err := e.Script(ctx, m, fmt.Sprintf(Kubectl+"delete secret from%d --ignore-not-found && "+Kubectl+"create secret generic from%d --from-literal=by=%s --server https://%s:6443", i, i, m.Name(), m.Addr())); err != nil {
			return err
		}
	}
	for _, m := range machines {
		for i, by := range machines {
			if err := e.Script(ctx, m, fmt.Sprintf(`test "$(`+Kubectl+`get secret from%d --server https://%s:6443 -o jsonpath={.data.by} | base64 -d)" = %s`, i, m.Addr(), by.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// rotatedOnAll starts the rotation on all hosts at the same time. The first one leads it.
func rotatedOnAll(ctx context.Context, e *Env, machines []lab.Machine) error {
	g, rotating := errgroup.WithContext(ctx)
	for _, m := range machines {
		g.Go(func() error {
			_, err := e.Must(rotating, m, []string{"the old key is deleted"}, "airgap", "encryption", "rotate")
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, m := range machines {
		if err := e.Script(ctx, m, "grep -q 'name: key2' /etc/kubernetes/apiserver/encryption.yaml", "! grep -q key1 /etc/kubernetes/apiserver/encryption.yaml", "! test -e /var/lib/airgap/rotation.json"); err != nil {
			return err
		}
	}
	return sameKeys(ctx, e, machines)
}

// Members checks the number of etcd members, with the API server's client certificate.
func Members(ctx context.Context, e *Env, m lab.Machine, want int) error {
	r, err := e.Must(ctx, m, nil, "sh", "-c", `curl --silent --fail --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/apiserver-etcd-client.crt \
		--key /etc/kubernetes/pki/apiserver-etcd-client.key -X POST https://127.0.0.1:2379/v3/cluster/member/list -d '{}'`)
	if err != nil {
		return err
	}
	if got := strings.Count(r.Stdout, `"name":`); got != want || strings.Contains(r.Stdout, "isLearner") {
		return fmt.Errorf("etcd has %d members, want %d voting members:\n%s", got, want, r.Stdout)
	}
	return nil
}

// usedCode checks that join refuses a token that another join has used.
func usedCode(ctx context.Context, e *Env, first, worker lab.Machine) error {
	line, err := e.JoinLine(ctx, first, worker.Name())
	if err != nil {
		return err
	}
	if err := removeNode(ctx, e, first, worker); err != nil {
		return err
	}
	if _, err := e.AirgapOn(ctx, worker, line.Code+"\n", e.JoinArgs(line)...); err != nil {
		return err
	}
	if err := removeNode(ctx, e, first, worker); err != nil {
		return err
	}
	r, err := e.On(ctx, worker, line.Code+"\n", append([]string{"airgap"}, e.JoinArgs(line)...)...)
	if err != nil {
		return err
	}
	if err := r.Want("join with a used token", 1, "used already", "--new-token"); err != nil {
		return err
	}
	if err := e.Script(ctx, worker, "! test -e /var/lib/airgap/journal.jsonl"); err != nil {
		return err
	}
	return JoinOne(ctx, e, first, worker)
}

// removeNode resets a server and checks that it has left the cluster.
func removeNode(ctx context.Context, e *Env, by, m lab.Machine) error {
	if _, err := e.Must(ctx, m, []string{"undone: "}, "airgap", "reset", "--yes"); err != nil {
		return err
	}
	if slices.Contains([]string{"node1", "node2", "node3"}, m.Name()) {
		if err := Members(ctx, e, by, 2); err != nil {
			return err
		}
		return e.Script(ctx, by, IsGone("node "+m.Name()))
	}
	return e.Script(ctx, by, Kubectl+"delete node "+m.Name())
}

// surviveLoss cuts the power of a control-plane host. It checks on another host that the API
// answers, that new pods run in time with an image that is not on their hosts yet, and that
// verify reports the dead host.
func surviveLoss(ctx context.Context, e *Env, dead, by lab.Machine, generation int, image string) error {
	if err := dead.Kill(ctx); err != nil {
		return err
	}
	began := time.Now()
	name := fmt.Sprintf("app%d", generation)
	// Without validation, because for it each API server first makes its OpenAPI document,
	// which takes seconds on two busy cores.
	const deploy = `for i in $(seq 60); do
		echo "$(date +%T) attempt $i"; ` + Kubectl + `--request-timeout=10s create deployment "$0" --image="$1" --replicas=6 --validate=false && break; sleep 1
	done
	` + Kubectl + `--request-timeout=90s rollout status "deployment/$0" --timeout=90s`
	r, err := e.On(ctx, by, "", "sh", "-c", "{ "+deploy+"; } 2>&1", name, image)
	if err == nil {
		err = r.Want("new pods after the power cut of "+dead.Name(), 0)
	}
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stdout)
	fmt.Fprintf(e.Log, "ha: six new pods run %.1f s after the power cut of %s\n", time.Since(began).Seconds(), dead.Name())
	if err := within(began, haPodsLimit, "new pods after the power cut of "+dead.Name()); err != nil {
		return err
	}
	// A node stays Ready for 50 s without heartbeats.
	if err := e.Script(ctx, by, Kubectl+"delete deployment "+name, Kubectl+"wait node "+dead.Name()+" --for=condition=Ready=Unknown --timeout=90s"); err != nil {
		return err
	}
	r, err = e.On(ctx, by, "", "airgap", "verify", LabSkips, "--timeout", "20s")
	if err != nil {
		return err
	}
	return r.Want("verify without "+dead.Name(), 4, "Node "+dead.Name())
}

// startAgain starts a dead host and checks the cluster.
func startAgain(ctx context.Context, e *Env, m, by lab.Machine) error {
	if err := m.Start(ctx); err != nil {
		return err
	}
	return e.Verified(ctx, by)
}

// coldStart cuts the power of all servers at once, and starts them.
func coldStart(ctx context.Context, e *Env, l *lab.Lab) error {
	var errs []error
	for _, m := range l.Machines {
		errs = append(errs, m.Kill(ctx))
	}
	g, starting := errgroup.WithContext(ctx)
	for _, m := range l.Machines {
		g.Go(func() error { return m.Start(starting) })
	}
	if err := errors.Join(append(errs, g.Wait())...); err != nil {
		return err
	}
	for _, m := range l.Machines[:3] {
		if err := e.Verified(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
