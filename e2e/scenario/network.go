package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/netfaults"
	"airgap.dev/airgap/e2e/secrets"
)

// networkEdits change the lab's airgap.yaml to three servers behind a load balancer. The first
// one can log in on the others.
func networkEdits() []string {
	return []string{
		`  version: "1.36.3"`, `  version: "1.36.3"` + "\n  controlPlaneEndpoint: " + netip.AddrPortFrom(Vip, 6443).String(),
		"    etcd-fsync: {severity: warn}\n", "    etcd-fsync: {severity: warn}\n    lb-idle: {watch: 3s}\n",
		"  - {name: node2, address: 10.88.0.12, roles: [worker]}\n", `  - {name: node2, address: 10.88.0.12, roles: [worker]}
  - {name: node3, address: 10.88.0.13, roles: [worker]}
ssh:
  identityFile: ~/.ssh/bank
`,
	}
}

// Network tests a network that drops packets between the servers: the checks report it in
// terms for network administrators and change nothing. If another port works, the cluster
// uses that one. Before the servers boot, it plays faults between hosts that are only network
// namespaces.
func Network(ctx context.Context, e *Env) error {
	if err := e.InOrder([]Part{{"networks between hosts, with faults and without", func() error { return netfaults.Run(ctx, e.Program, e.Work, e.Log) }}}); err != nil {
		return err
	}
	if err := brokenNetwork(ctx, e); err != nil {
		return err
	}
	return withoutTunnels(ctx, e)
}

func brokenNetwork(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 3, func(l *lab.Lab) error {
		first, second, third := l.Machines[0], l.Machines[1], l.Machines[2]
		stop, err := l.Balance(ctx, Vip, 6443, first)
		if err != nil {
			return err
		}
		defer func() { _ = stop() }() // the balancer also ends with this process
		spoofed := lab.Drop{Source: pods}
		kubelet := lab.Drop{Proto: "tcp", Port: 10250, From: second.Addr(), To: third.Addr()}
		vxlan := lab.Drop{Proto: "udp", Port: 8472}
		iana := lab.Drop{Proto: "udp", Port: 4789, From: first.Addr()}
		narrow := lab.Drop{Proto: "udp", Larger: 1400}
		var before []string
		return e.InOrder([]Part{
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.MakeBundle(ctx, stick, networkEdits()...) }},
			{"keys for the first host", func() error { return e.AuthorizeKeys(ctx, first, second, third) }},
			{"the program, from the stick", func() error { return e.InstallProgram(ctx, first, stick) }},
			{"an open network", func() error { return openNetwork(ctx, e, first) }},
			{"record the servers' networks", func() (err error) { before, err = networksOf(ctx, l.Machines); return err }},
			{"a port that is dropped in one direction", func() error {
				return errors.Join(l.Network.Drop(ctx, kubelet), namesPort(ctx, e, first), onlyOne(ctx, e, first), l.Network.Carry(ctx, kubelet))
			}},
			{"a load balancer that terminates TLS", func() error {
				if err := stop(); err != nil {
					return err
				}
				stopTLS, err := l.BalanceTLS(ctx, Vip, 6443, first)
				if err != nil {
					return err
				}
				if err := errors.Join(namesTLS(ctx, e, first), stopTLS()); err != nil {
					return err
				}
				stop, err = l.Balance(ctx, Vip, 6443, first)
				return err
			}},
			{"no port for a tunnel", func() error {
				return errors.Join(l.Network.Drop(ctx, vxlan), l.Network.Drop(ctx, iana), l.Network.Drop(ctx, spoofed), noTunnel(ctx, e, first), l.Network.Carry(ctx, iana))
			}},
			{"by hand, with a token", func() error { return byHand(ctx, e, l) }},
			{"nothing was changed", func() error { return sameNetworks(ctx, l.Machines, before) }},
			{"install uses another port", func() error { return errors.Join(l.Network.Drop(ctx, narrow), otherWay(ctx, e, first, l.Machines)) }},
			{"verify", func() error { return e.Verified(ctx, first) }},
			{"a workload", func() error { return e.Workload(ctx, first) }},
			{"the port stays the same", func() error {
				return errors.Join(l.Network.Carry(ctx, vxlan), l.Network.Carry(ctx, narrow), keepsPort(ctx, e, first))
			}},
			{"the pods report later failures", func() error { return namesBroken(ctx, e, l) }},
		})
	})
}

// allHosts returns the preflight command for all servers.
func allHosts(options ...string) []string {
	return append([]string{"airgap", "preflight", "--all-hosts", LabSkips, lab.StickPath + "/bank"}, options...)
}

// judgement is a report of `airgap preflight --output json`.
type judgement struct {
	Host    string
	Worst   string
	Results []struct{ ID, Status, Found, Want, Fix string }
}

// reportsOfAll returns the reports of the three hosts, and the report of the network between
// them.
func reportsOfAll(ctx context.Context, e *Env, m lab.Machine, exit int, options ...string) (all []judgement, err error) {
	r, err := e.On(ctx, m, "", allHosts(append(options, "--output", "json")...)...)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(r.Want("preflight of all hosts", exit), json.Unmarshal([]byte(r.Stdout), &all)); err != nil {
		return nil, err
	}
	if len(all) != 4 || all[3].Host != "between the hosts" {
		return nil, fmt.Errorf("got %d reports, want three of hosts and one of the network between them", len(all))
	}
	return all, nil
}

func judgeAll(ctx context.Context, e *Env, m lab.Machine, exit int) (between map[string]string, err error) {
	all, err := reportsOfAll(ctx, e, m, exit)
	if err != nil {
		return nil, err
	}
	between = map[string]string{}
	for _, c := range all[3].Results {
		between[c.ID] = c.Status + ": " + c.Found + "\n" + c.Fix
	}
	return between, nil
}

// onlyOne selects one check and checks that each host runs only that check.
func onlyOne(ctx context.Context, e *Env, first lab.Machine) error {
	all, err := reportsOfAll(ctx, e, first, 0, "--only=os-supported")
	if err != nil {
		return err
	}
	for _, report := range all[:3] {
		if len(report.Results) != 1 || report.Results[0].ID != "os-supported" {
			return fmt.Errorf("report of %s: got %+v, want only os-supported", report.Host, report.Results)
		}
	}
	if len(all[3].Results) > 0 {
		return fmt.Errorf("report of the network: got %+v, want no results", all[3].Results)
	}
	return nil
}

// hasResults checks the status and a part of the text of each check's result.
func hasResults(between map[string]string, wants ...string) error {
	var errs []error
	for i := 0; i+1 < len(wants); i += 2 {
		id, text := wants[i], wants[i+1]
		status, words, _ := strings.Cut(text, ": ")
		if got := between[id]; !strings.HasPrefix(got, status+": ") || !strings.Contains(got, words) {
			errs = append(errs, fmt.Errorf("%s: got %q, want %q", id, got, text))
		}
	}
	return errors.Join(errs...)
}

func openNetwork(ctx context.Context, e *Env, first lab.Machine) error {
	between, err := judgeAll(ctx, e, first, 0)
	if err != nil {
		return err
	}
	return hasResults(between,
		"measured", "pass: 3 hosts, each with all others",
		"ports-reach", "pass: TCP 6443, 2379, 2380, 10250",
		"vxlan-datapath", "pass: ICMP, UDP and 1 MiB by TCP",
		"mtu", "pass: in one piece",
		"path-quality", "pass: packets arrive on 6 paths", "etcd-latency", "pass: not measured: one control-plane host",
		"encapsulation", "pass: VXLAN on UDP 8472", "ipip-proto4", "pass: does not arrive: between all hosts",
		"lb-vip", "pass: "+Vip.String()+":6443 connects all hosts to every control-plane host",
		"lb-idle", "pass: kept open for 3 s without traffic",
		"clock-skew", "pass: within",
		"duplicate-hosts", "pass: differ")
}

func namesPort(ctx context.Context, e *Env, first lab.Machine) error {
	between, err := judgeAll(ctx, e, first, 3)
	if err != nil {
		return err
	}
	if err := hasResults(between,
		"ports-reach", "fail: TCP 10250 (kubelet) does not arrive: from node2 (10.88.0.12) to node3 (10.88.0.13)",
		"vxlan-datapath", "pass: ", "encapsulation", "pass: VXLAN on UDP 8472"); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", allHosts("--output", "html", "--network-page", "/run/network.html")...)
	if err != nil {
		return err
	}
	return errors.Join(r.Want("the page", 3, "<!doctype html>", "between the hosts", "from node2 (10.88.0.12) to node3 (10.88.0.13)"),
		e.Script(ctx, first, "grep -q 'TCP 10250 (kubelet) does not arrive.*from node2 (10.88.0.12) to node3 (10.88.0.13).*allow TCP to port 10250' /run/network.html",
			"grep -c 'class=\"state closed\"' /run/network.html | grep -qx 1", "rm /run/network.html"))
}

// namesTLS checks that the report shows the certificate of the host that terminates TLS.
func namesTLS(ctx context.Context, e *Env, first lab.Machine) error {
	between, err := judgeAll(ctx, e, first, 3)
	if err != nil {
		return err
	}
	return hasResults(between, "lb-vip", "fail: the load balancer terminates TLS (CN=balancer.bank.example) for these hosts: node1 (10.88.0.11); node2 (10.88.0.12); node3 (10.88.0.13)")
}

// noTunnel: no port passes between all hosts. The error contains the request for the network
// administrators.
func noTunnel(ctx context.Context, e *Env, first lab.Machine) error {
	r, err := e.On(ctx, first, "", InstallOverSSH()...)
	if err != nil {
		return err
	}
	return r.Want("install without a way for pods", 3, "encapsulation", "VXLAN on UDP 8472 does not pass between all hosts",
		"VXLAN on UDP 4789 does not pass from node1 (10.88.0.11) to node2 (10.88.0.12), node3 (10.88.0.13)",
		"Without a tunnel, packets with pod addresses do not pass between all hosts",
		"Ask the network administrators to allow UDP to port 8472 between these hosts, in both directions", "nothing was changed")
}

// shownCode matches the token on the first server's screen.
var shownCode = regexp.MustCompile(`the code, valid once: ([a-z2-7-]+)`)

// byHand starts the measurement manually on each server: a wrong token is refused, and the
// first server shows the result.
func byHand(ctx context.Context, e *Env, l *lab.Lab) error {
	first := l.Machines[0]
	listen := "airgap netprobe listen --progress plain --network-page page " + lab.StickPath + "/bank"
	if err := e.Script(ctx, first, "mkdir -m 700 /run/byhand; cd /run/byhand; setsid sh -c '"+listen+" >report 2>screen; echo $? >exit' </dev/null >/dev/null 2>&1 &"); err != nil {
		return err
	}
	screen, err := lab.Output(ctx, first, "sh", "-c", "for i in $(seq 100); do grep 'the code, valid once' /run/byhand/screen && break; sleep 0.1; done")
	if err != nil {
		return err
	}
	code := shownCode.FindStringSubmatch(screen)
	if code == nil {
		return fmt.Errorf("the first server shows no token: %q", screen)
	}
	if err := e.Book.Add(secrets.Code, "the measurement's", code[1]); err != nil {
		return err
	}
	join := func(m lab.Machine, typed string, exit int, words string) error {
		r, err := e.On(ctx, m, typed+"\n", "airgap", "netprobe", "join", first.Addr().String())
		return errors.Join(err, r.Want("netprobe join", exit, words))
	}
	errs := make([]error, len(l.Machines))
	errs[0] = join(l.Machines[1], strings.Repeat("a", 20), 1, "the code is wrong")
	var others sync.WaitGroup
	for i, m := range l.Machines[1:] {
		others.Go(func() { errs[i+1] = join(m, code[1], 0, "the result is on "+first.Addr().String()) })
	}
	others.Wait()
	return errors.Join(append(errs, e.Script(ctx, first,
		"for i in $(seq 100); do test -s /run/byhand/exit && break; sleep 0.1; done; grep -qx 0 /run/byhand/exit",
		"grep -q 'encapsulation *VXLAN on UDP 4789' /run/byhand/report", "grep -q 'VXLAN on UDP 8472 does not pass between all hosts' /run/byhand/report", "grep -q 'reject connection from node2 (10.88.0.12)' /run/byhand/screen",
		"grep -q 'UDP 4789.*passes' /run/byhand/page && ! grep -qi 'required changes' /run/byhand/page",
		`grep -q '"port": 4789' /var/lib/airgap/measured.json`,
		"rm -r /run/byhand /var/lib/airgap/measured.json"))...)
}

// networksOf returns the network configuration of each server.
func networksOf(ctx context.Context, machines []lab.Machine) ([]string, error) {
	var all []string
	for _, m := range machines {
		one, err := lab.Output(ctx, m, "sh", "-c", "ip -brief link; ip route; nft list ruleset; ls /var/lib/airgap /etc/airgap | grep -vx lock; pgrep -a airgap || true")
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func sameNetworks(ctx context.Context, machines []lab.Machine, before []string) error {
	after, err := networksOf(ctx, machines)
	if err != nil {
		return err
	}
	for i, m := range machines {
		if after[i] != before[i] {
			return fmt.Errorf("network of %s: got\n%s\nwant\n%s", m.Name(), after[i], before[i])
		}
	}
	return nil
}

// otherWay installs while the network drops port 8472 and packets larger than 1400 bytes
// between all hosts: the tunnel uses port 4789 and smaller packets, also on joined hosts.
func otherWay(ctx context.Context, e *Env, first lab.Machine, machines []lab.Machine) error {
	r, err := e.On(ctx, first, "", InstallOverSSH()...)
	if err != nil {
		return err
	}
	if err := r.Want("install", 0, "pods' packets use VXLAN on UDP 4789", "packets larger than 1400 bytes are lost on some path", "the cluster is verified: 3 nodes"); err != nil {
		return err
	}
	for _, m := range machines {
		if err := e.Script(ctx, m, "ip -details link show flannel.1 | grep -q 'dstport 4789'", "ip link show flannel.1 | grep -q 'mtu 1350'", `grep -q '"port": 4789' /var/lib/airgap/network/network.json`); err != nil {
			return err
		}
	}
	return nil
}

// keepsPort checks that the same command changes nothing after the first port is open again.
func keepsPort(ctx context.Context, e *Env, first lab.Machine) error {
	return errors.Join(unchanged(ctx, e, first), e.Script(ctx, first, "ip -details link show flannel.1 | grep -q 'dstport 4789'"))
}

func unchanged(ctx context.Context, e *Env, first lab.Machine) error {
	r, err := e.On(ctx, first, "", InstallOverSSH("--output", "json")...)
	if err != nil {
		return err
	}
	var done struct{ Changed int }
	if err := errors.Join(r.Want("a second install", 0), json.Unmarshal([]byte(r.Stdout), &done)); err != nil {
		return err
	}
	if done.Changed != 0 {
		return fmt.Errorf("a second install changed %d steps", done.Changed)
	}
	return nil
}

// namesBroken breaks the pods' network in ways that keep all nodes and pods Ready. verify
// reports the missing connections, and passes again after the repair.
func namesBroken(ctx context.Context, e *Env, l *lab.Lab) error {
	first, second, third := l.Machines[0], l.Machines[1], l.Machines[2]
	broken := func(words ...string) error {
		r, err := e.On(ctx, first, "", "airgap", "verify", LabSkips, "--timeout", "70s", "--soak", "40s")
		return errors.Join(err, r.Want("verify", 4, append(words, "broken  Pods, Services, DNS names")...))
	}
	tunnel := lab.Drop{Proto: "udp", Port: 4789, From: second.Addr(), To: third.Addr()}
	if err := errors.Join(l.Network.Drop(ctx, tunnel), broken("pod on node3: no answer from node2", "pod on node2: no answer from node3"), l.Network.Carry(ctx, tunnel)); err != nil {
		return err
	}
	narrow := lab.Drop{Proto: "udp", Port: 4789, From: second.Addr(), To: third.Addr(), Larger: 1200}
	if err := errors.Join(l.Network.Drop(ctx, narrow), broken("pod on node3, 64 KiB: ", "pod on node2, 64 KiB: ", "network.mtu"), l.Network.Carry(ctx, narrow)); err != nil {
		return err
	}
	if err := errors.Join(
		e.Script(ctx, first, Kubectl+"-n kube-system scale deployment coredns --replicas=0"),
		broken("name kubernetes.default.svc: ", "k8s-app=kube-dns"),
		e.Script(ctx, first, Kubectl+"-n kube-system scale deployment coredns --replicas=2")); err != nil {
		return err
	}
	return e.Verified(ctx, first)
}

// pods is the pod network.
var pods = netip.MustParsePrefix("10.244.0.0/16")
