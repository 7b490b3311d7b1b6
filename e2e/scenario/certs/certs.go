// Package certs has the scenarios of certificates: the list, the renewal, expired
// certificates, and the rotation of CAs.
package certs

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// Certs renews the certificates of a cluster under a workload, kills the renewal, and
// renews a certificate that expires soon. openssl reads the certificates that the servers
// present.
func Certs(ctx context.Context, e *scenario.Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		return e.InOrder([]scenario.Part{
			{Title: "survey", Run: func() error { return e.Survey(ctx, l.Machines...) }},
			{Title: "bundle", Run: func() error { return e.MakeBundle(ctx, stick) }},
			{Title: "the program, from the stick", Run: func() error { return e.InstallProgram(ctx, first, stick) }},
			{Title: "install", Run: func() error { return e.InstallOnce(ctx, first) }},
			{Title: "join", Run: func() error { return e.Join(ctx, first, worker, stick) }},
			{Title: "a workload", Run: func() error { return e.Workload(ctx, first) }},
			{Title: "the list", Run: func() error { return certificatesListed(ctx, e, first, worker) }},
			{Title: "nothing is due", Run: func() error { return nothingDue(ctx, e, first, worker) }},
			{Title: "a certificate that expires soon is named and renewed", Run: func() error { return expiresSoon(ctx, e, first) }},
			{Title: "all are renewed under a workload", Run: func() error { return allRenewed(ctx, e, first) }},
			{Title: "the lease of the renewal is released", Run: func() error {
				return e.Script(ctx, first, "[ -z \"$("+scenario.Kubectl+"-n kube-system get lease airgap-certs-renew -o jsonpath='{.spec.holderIdentity}')\" ]")
			}},
			{Title: "verify", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "a killed renewal continues", Run: func() error { return renewalKilled(ctx, e, first) }},
			{Title: "the worker's certificates are renewed", Run: func() error { return workerRenewed(ctx, e, first, worker) }},
			{Title: "etcd's CA is rotated, killed in each phase", Run: func() error { return etcdCARotated(ctx, e, first) }},
			{Title: "the cluster's CA is rotated, killed in each phase", Run: func() error { return clusterCARotated(ctx, e, first, worker) }},
			{Title: "install changes nothing", Run: func() error { return changesNothing(ctx, e, first) }},
			{Title: "verify again", Run: func() error { return e.Verified(ctx, first) }},
			{Title: "expired certificates are reported and renewed", Run: func() error { return allExpired(ctx, e, first) }},
		})
	})
}

// certificate is one item of `airgap certs --output json`.
type certificate struct {
	File, Purpose, Issuer, Serial, RenewedBy string
	Ends                                     time.Time
	Authority                                bool
}

// certificates returns the certificates of a server by file, as airgap lists them.
func certificates(ctx context.Context, e *scenario.Env, m lab.Machine) (map[string]certificate, error) {
	r, err := e.Must(ctx, m, nil, "airgap", "certs", "--output", "json")
	if err != nil {
		return nil, err
	}
	var list []certificate
	if err := json.Unmarshal([]byte(r.Stdout), &list); err != nil {
		return nil, err
	}
	byFile := map[string]certificate{}
	for _, c := range list {
		byFile[c.File] = c
	}
	return byFile, nil
}

// certificatesListed checks that airgap lists every file with a certificate that find and
// grep find, with the serial number that openssl reads.
func certificatesListed(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	const files = `find /etc/kubernetes /etc/airgap /var/lib/kubelet/pki -type f \( -name '*.crt' -o -name '*-current.pem' \) -o -type l -name '*-current.pem'; grep -l client-certificate-data /etc/kubernetes/*.conf || true`
	for m, fewest := range map[lab.Machine]int{first: 17, worker: 4} {
		if _, err := e.Must(ctx, m, []string{"RENEWED BY", "client certificate of the kubelet"}, "airgap", "certs"); err != nil {
			return err
		}
		list, err := certificates(ctx, e, m)
		if err != nil {
			return err
		}
		found, err := lab.Output(ctx, m, "sh", "-c", files)
		if err != nil {
			return err
		}
		names := strings.Fields(found)
		if len(names) < fewest || len(names) != len(list) {
			return fmt.Errorf("%s has %d files with certificates, and airgap lists %d:\n%v\n%v", m.Name(), len(names), len(list), names, list)
		}
		for _, name := range names {
			if strings.HasSuffix(name, ".conf") {
				continue
			}
			serial, err := lab.Output(ctx, m, "openssl", "x509", "-noout", "-serial", "-in", name)
			if err != nil {
				return err
			}
			if want := strings.TrimLeft(strings.ToLower(strings.TrimPrefix(strings.TrimSpace(serial), "serial=")), "0"); want != list[name].Serial {
				return fmt.Errorf("%s on %s has the serial number %s, airgap says %s", name, m.Name(), want, list[name].Serial)
			}
		}
	}
	return nil
}

// processes prints the process IDs of the control plane and of the kubelet. They change
// with a restart.
const processes = `for p in kube-apiserver kube-controller-manager kube-scheduler etcd kubelet; do echo $p $(pgrep -x $(echo $p | cut -c 1-15)); done`

// nothingDue checks that a renewal changes no file and restarts nothing.
func nothingDue(ctx context.Context, e *scenario.Env, machines ...lab.Machine) error {
	for _, m := range machines {
		const state = processes + "; sha256sum /etc/kubernetes/*.conf /etc/kubernetes/pki/*.* /etc/kubernetes/pki/etcd/* /etc/airgap/pki/* /var/lib/kubelet/pki/* 2>/dev/null"
		before, err := lab.Output(ctx, m, "sh", "-c", state+"; true")
		if err != nil {
			return err
		}
		if _, err := e.Must(ctx, m, []string{"nothing was due", "next expiry: "}, "airgap", "certs", "renew"); err != nil {
			return err
		}
		after, err := lab.Output(ctx, m, "sh", "-c", state+"; true")
		if err != nil {
			return err
		}
		if before != after {
			return fmt.Errorf("a renewal with nothing due changed %s:\n%s\n%s", m.Name(), before, after)
		}
	}
	return nil
}

// expiresSoon installs a certificate that expires in ten days. verify must name it with the
// command that renews it; then that command runs.
func expiresSoon(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := e.Script(ctx, m,
		"cd /etc/kubernetes/pki/etcd && openssl req -new -key healthcheck-client.key -subj /CN=kube-etcd-healthcheck-client -out /run/short.csr",
		"echo extendedKeyUsage=clientAuth >/run/short.ext",
		"cd /etc/kubernetes/pki/etcd && openssl x509 -req -in /run/short.csr -CA ca.crt -CAkey ca.key -set_serial 77 -days 10 -extfile /run/short.ext -out /run/short.crt && cat /run/short.crt >healthcheck-client.crt",
		"rm /run/short.csr /run/short.ext /run/short.crt",
	); err != nil {
		return err
	}
	// A host checks its certificates once a minute, and when its unit starts.
	if err := e.Script(ctx, m, "systemctl restart airgap-node-report"); err != nil {
		return err
	}
	r, err := e.On(ctx, m, "", "airgap", "verify", scenario.LabSkips, "--only", "certificates", "--timeout", "30s", "--soak", "25s")
	if err != nil {
		return err
	}
	if err := r.Want("verify with a certificate that expires soon", 4, "/etc/kubernetes/pki/etcd/healthcheck-client.crt", "airgap certs renew"); err != nil {
		return err
	}
	_, err = e.Must(ctx, m, []string{"renewed /etc/kubernetes/pki/etcd/healthcheck-client.crt", "restarted kube-apiserver"}, "airgap", "certs", "renew")
	return err
}

// presented prints the serial numbers of the certificates that servers present.
const presented = `for at in $0:6443 127.0.0.1:2379 $0:2380 127.0.0.1:10250 $0:5000; do
echo $at $(openssl s_client -connect $at -cert /etc/kubernetes/pki/etcd/peer.crt -key /etc/kubernetes/pki/etcd/peer.key </dev/null 2>/dev/null | openssl x509 -noout -serial); done`

// allRenewed renews all certificates while one client sends requests to the API server and
// another one watches pods. Afterwards all serial numbers must differ, in the files and in
// the presented certificates.
func allRenewed(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	before, err := serialNumbers(ctx, e, m)
	if err != nil {
		return err
	}
	if err := startClients(ctx, e, m, "10.88.0.11:6443"); err != nil {
		return err
	}
	began := time.Now()
	r, err := e.Must(ctx, m, []string{"renewed /etc/airgap/pki/registry.crt", "renewed /var/lib/kubelet/pki/kubelet.crt", "restarted kube-apiserver"}, "airgap", "certs", "renew", "--all")
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "%s%srenewed in %.1f s\n", r.Stderr, r.Stdout, time.Since(began).Seconds())
	outages, err := stopClients(ctx, e, m)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "the API server did not answer for %v\n", outages)
	if len(outages) == 0 || len(outages) > 2 {
		return fmt.Errorf("the API server of the only host had %d outages, want 1 or 2: that of its restart", len(outages))
	}
	after, err := serialNumbers(ctx, e, m)
	if err != nil {
		return err
	}
	return allDiffer(before, after)
}

// serialNumbers returns the serial numbers of a control-plane host's certificates by file, and by
// the address that presents them.
func serialNumbers(ctx context.Context, e *scenario.Env, m lab.Machine) (map[string]string, error) {
	list, err := certificates(ctx, e, m)
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for file, c := range list {
		if c.RenewedBy == "airgap" {
			all[file] = c.Serial
		}
	}
	text, err := lab.Output(ctx, m, "sh", "-c", presented, m.Addr().String())
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		at, serial, _ := strings.Cut(strings.TrimSpace(line), " ")
		if serial == "" {
			return nil, fmt.Errorf("%s presents no certificate", at)
		}
		all[at] = serial
	}
	return all, nil
}

func allDiffer(before, after map[string]string) error {
	var same []string
	for name, serial := range before {
		if after[name] == serial || after[name] == "" {
			same = append(same, name)
		}
	}
	if len(same) > 0 || len(before) != len(after) {
		slices.Sort(same)
		return fmt.Errorf("not renewed: %v (got %d certificates, want %d)", same, len(after), len(before))
	}
	return nil
}

// startClients starts two clients on a server, which run until stopClients is called. One sends
// requests to an API server five times a second, the other watches pods.
func startClients(ctx context.Context, e *scenario.Env, m lab.Machine, address string) error {
	return e.Script(ctx, m,
		`touch /run/asking; nohup flock /run/asked.lock sh -c 'while test -e /run/asking; do curl -s -o /dev/null -m 5 --cacert /etc/kubernetes/pki/ca.crt https://`+address+`/readyz && r=1 || r=0; echo $(date +%s%N) $r; sleep 0.2; done' >/run/asked 2>/dev/null &`,
		"nohup sh -c 'while test -e /run/asking; do "+scenario.Kubectl+"get pods --watch; done' >/run/watched 2>&1 &",
	)
}

// stopClients stops the clients. It returns the length of each outage: from the last answer
// before it to the first answer after it.
func stopClients(ctx context.Context, e *scenario.Env, m lab.Machine) ([]time.Duration, error) {
	if err := e.Script(ctx, m, "rm /run/asking; pkill -x kubectl || true; flock -w 30 /run/asked.lock true", "test $(wc -l </run/asked) -gt 20"); err != nil {
		return nil, err
	}
	text, err := lab.Output(ctx, m, "cat", "/run/asked")
	if err != nil {
		return nil, err
	}
	var outages []time.Duration
	lastYes, was := int64(0), int64(1)
	for line := range strings.Lines(text) {
		var at, yes int64
		if _, err := fmt.Sscan(line, &at, &yes); err != nil {
			continue
		}
		if yes == 1 {
			if was == 0 && lastYes > 0 {
				outages = append(outages, time.Duration(at-lastYes))
			}
			lastYes = at
		}
		was = yes
	}
	return outages, nil
}

// renewalKilled kills the renewal while kubeadm writes, and after the API server
// stopped. Each time the next run must complete the renewal.
func renewalKilled(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	for _, soFar := range []string{
		"test -s /var/lib/airgap/renewal.json",
		"grep -q '\"made\"' /var/lib/airgap/renewal.json 2>/dev/null && ! pgrep -x kube-apiserver >/dev/null",
	} {
		before, err := serialNumbers(ctx, e, m)
		if err != nil {
			return err
		}
		if err := e.Killed(ctx, m, "airgap certs renew --all", soFar); err != nil {
			return fmt.Errorf("killed when %s: %w", soFar, err)
		}
		if _, err := e.Must(ctx, m, []string{"continue the interrupted renewal"}, "sh", "-c", "airgap certs renew 2>&1"); err != nil {
			return fmt.Errorf("run after a kill when %s: %w", soFar, err)
		}
		if err := e.Script(ctx, m, "! test -e /var/lib/airgap/renewal.json"); err != nil {
			return err
		}
		after, err := serialNumbers(ctx, e, m)
		if err != nil {
			return err
		}
		delete(before, "/etc/airgap/pki/registry.crt") // the kill came before its turn
		delete(before, "10.88.0.11:5000")
		delete(after, "/etc/airgap/pki/registry.crt")
		delete(after, "10.88.0.11:5000")
		if err := allDiffer(before, after); err != nil {
			return fmt.Errorf("killed when %s, then renewed: %w", soFar, err)
		}
	}
	return nil
}

// workerRenewed renews the serving certificate of a worker's kubelet. Its pods must keep
// running, and the API server must reach them.
func workerRenewed(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	const starts = scenario.Kubectl + "get pods -A --field-selector spec.nodeName=node2 -o jsonpath='{range .items[*]}{.metadata.name} {.status.containerStatuses[*].restartCount}{\"\\n\"}{end}'"
	before, err := lab.Output(ctx, first, "sh", "-c", starts)
	if err != nil {
		return err
	}
	old, err := certificates(ctx, e, worker)
	if err != nil {
		return err
	}
	if _, err := e.Must(ctx, worker, []string{"renewed /var/lib/kubelet/pki/kubelet.crt", "restarted kubelet"}, "airgap", "certs", "renew", "--all"); err != nil {
		return err
	}
	now, err := certificates(ctx, e, worker)
	if err != nil {
		return err
	}
	const file = "/var/lib/kubelet/pki/kubelet.crt"
	if now[file].Serial == old[file].Serial {
		return fmt.Errorf("%s of the worker was not renewed", file)
	}
	after, err := lab.Output(ctx, first, "sh", "-c", starts)
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("pods of the worker were restarted:\n%s\n%s", before, after)
	}
	// A kubelet that just started must first read its pods from the API server.
	return e.Script(ctx, first, scenario.Retry(scenario.Kubectl+"logs --tail=1 tools"), scenario.Kubectl+"exec tools -- tools get http://hello.default.svc.cluster.local:80/")
}

// etcdCARotated rotates etcd's CA, and kills the command in each phase. etcd must accept
// a certificate of the old CA before the rotation, and must refuse it afterwards.
func etcdCARotated(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	const (
		rotate = "airgap certs rotate-ca --only etcd"
		asOld  = "curl -s -m 20 -o /dev/null --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /root/old/client.crt --key /root/old/client.key https://127.0.0.1:2379/health"
		ca     = "/etc/kubernetes/pki/etcd/ca.crt"
	)
	if err := e.Script(ctx, m,
		"umask 077; mkdir /root/old && cd /etc/kubernetes/pki/etcd && cp ca.crt /root/old && cp healthcheck-client.crt /root/old/client.crt && cp healthcheck-client.key /root/old/client.key",
		asOld,
	); err != nil {
		return err
	}
	for _, soFar := range []string{
		"test -s /etc/kubernetes/pki/next/etcd.crt",
		"test $(grep -c BEGIN " + ca + ") = 2",
		"cmp -s /etc/kubernetes/pki/next/etcd.key /etc/kubernetes/pki/etcd/ca.key",
		"test -s /var/lib/airgap/renewal.json",
		"cmp -s /etc/kubernetes/pki/next/etcd.crt " + ca,
	} {
		if err := e.Killed(ctx, m, rotate, soFar); err != nil {
			return fmt.Errorf("killed when %s: %w", soFar, err)
		}
	}
	r, err := e.Must(ctx, m, []string{"continue the interrupted rotation", "this host does not trust the old one"}, "sh", "-c", rotate+" 2>&1")
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stdout)
	return e.Script(ctx, m,
		"! cmp -s /root/old/ca.crt "+ca+" && test $(grep -c BEGIN "+ca+") = 1 && ! test -e /etc/kubernetes/pki/next && ! test -e /var/lib/airgap/renewal.json",
		"for c in server peer healthcheck-client ../apiserver-etcd-client; do openssl verify -CAfile "+ca+" /etc/kubernetes/pki/etcd/$c.crt && ! openssl verify -CAfile /root/old/ca.crt /etc/kubernetes/pki/etcd/$c.crt 2>/dev/null || exit 1; done",
		"! "+asOld,
		strings.ReplaceAll(asOld, "/root/old/client", "/etc/kubernetes/pki/etcd/healthcheck-client"),
		"rm -r /root/old",
		"airgap backup",
	)
}

// changesNothing runs install again: it must change nothing.
func changesNothing(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	again, err := e.AirgapOn(ctx, first, "", "install", scenario.LabSkips, lab.StickPath+"/bank")
	if err == nil && again.Changed != 0 {
		err = fmt.Errorf("install after the renewals reports %+v, want nothing changed", again)
	}
	return err
}
