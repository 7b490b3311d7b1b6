package scenario

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/secrets"
)

// Baseline checks the compliance baseline on servers without airgap's own code: with stat,
// /proc and the bytes of etcd's files. Then it rotates the encryption key of the Secrets, with
// an interruption, and resets the host.
func Baseline(ctx context.Context, e *Env) error {
	stick := filepath.Join(e.Work, "stick")
	return e.WithServers(ctx, 2, func(l *lab.Lab) error {
		first, worker := l.Machines[0], l.Machines[1]
		var begun Picture
		return e.InOrder([]Part{
			{"survey", func() error { return e.Survey(ctx, l.Machines...) }},
			{"bundle", func() error { return e.MakeBundle(ctx, stick) }},
			{"the program, from the stick", func() (err error) {
				if err := e.InstallProgram(ctx, first, stick); err != nil {
					return err
				}
				begun, err = e.Picture(ctx, first)
				return err
			}},
			{"install", func() error { return e.InstallOnce(ctx, first) }},
			{"join", func() error { return e.Join(ctx, first, worker, stick) }},
			{"verify", func() error { return e.Verified(ctx, first) }},
			{"modes of files", func() error { return closed(ctx, e, first, worker) }},
			{"flags of the programs", func() error { return flagsHold(ctx, first, worker) }},
			{"anonymous requests are refused", func() error { return anonymous(ctx, e, first) }},
			{"Secrets in etcd", func() error { return encrypted(ctx, e, first) }},
			{"the audit log", func() error { return audited(ctx, e, first) }},
			{"airgap compliance", func() error { return compliant(ctx, e, first, worker) }},
			{"rotate the key, with kill -9", func() error { return rotated(ctx, e, first) }},
			{"verify again", func() error { return e.Verified(ctx, first) }},
			{"reset leaves nothing", func() error { return resetToBefore(ctx, e, first, begun) }},
		})
	})
}

// closed checks that only root can read root's files. It reads them as an unprivileged
// user and does not trust the mode.
func closed(ctx context.Context, e *Env, first, worker lab.Machine) error {
	const readable = `found=$(runuser -u nobody -- find /etc/kubernetes /var/lib/etcd /var/log/kubernetes /etc/airgap/cni/net.d /var/lib/kubelet /usr/lib/systemd/system/kubelet.service /usr/lib/systemd/system/kubelet.service.d -type f -readable 2>/dev/null); test -z "$found" || { echo "$found"; exit 1; }`
	for _, m := range []lab.Machine{first, worker} {
		if err := e.Script(ctx, m, readable,
			`test "$(stat -c '%a %U:%G' /var/lib/kubelet/config.yaml)" = '600 root:root'`,
			`test "$(stat -c '%a %U:%G' /etc/kubernetes/pki/ca.crt)" = '600 root:root'`,
			`test "$(stat -c %a /etc/airgap/cni/net.d/10-flannel.conflist)" = 600`,
		); err != nil {
			return err
		}
	}
	return e.Script(ctx, first,
		`test "$(stat -c '%a %U:%G' /var/lib/etcd /etc/kubernetes/apiserver /var/log/kubernetes/audit | sort -u)" = '700 root:root'`,
		`test "$(stat -c '%a %U:%G' /etc/kubernetes/apiserver/* /var/log/kubernetes/audit/* /etc/kubernetes/manifests/* /etc/kubernetes/*.conf /etc/kubernetes/pki/*.crt /etc/kubernetes/pki/*.key /etc/kubernetes/pki/etcd/* | sort -u)" = '600 root:root'`,
	)
}

// flagsHold checks the arguments of the running programs.
func flagsHold(ctx context.Context, first, worker lab.Machine) error {
	for program, flags := range map[string][]string{
		"kube-apiserver": {
			"--profiling=false", "--tls-min-version=VersionTLS12", "--service-account-extend-token-expiration=false",
			"--encryption-provider-config-automatic-reload=true", "--audit-log-maxage=30", "--audit-log-maxbackup=10", "--audit-log-maxsize=100",
			"--authorization-mode=Node,RBAC",
		},
		"kube-controller-manager": {"--profiling=false", "--terminated-pod-gc-threshold=1000", "--bind-address=127.0.0.1"},
		"kube-scheduler":          {"--profiling=false", "--bind-address=127.0.0.1"},
		"etcd":                    {"--tls-min-version=TLS1.2", "--client-cert-auth=true"},
	} {
		output, err := lab.Output(ctx, first, "sh", "-c", "tr '\\0' '\\n' </proc/$(pgrep -x "+program[:min(len(program), 15)]+")/cmdline")
		if err != nil {
			return err
		}
		for _, flag := range flags {
			if !strings.Contains(output+"\n", flag+"\n") {
				return fmt.Errorf("%s runs without %s:\n%s", program, flag, output)
			}
		}
	}
	for _, node := range []lab.Machine{first, worker} { // the kubelet's effective configuration
		output, err := lab.Output(ctx, first, "sh", "-c", Kubectl+"get --raw /api/v1/nodes/"+node.Name()+"/proxy/configz")
		if err != nil {
			return err
		}
		for _, field := range []string{`"protectKernelDefaults":true`, `"seccompDefault":true`, `"podPidsLimit":4096`, `"streamingConnectionIdleTimeout":"5m0s"`, `"tlsMinVersion":"VersionTLS12"`, `"rotateCertificates":true`} {
			if !strings.Contains(output, field) {
				return fmt.Errorf("the configuration of the kubelet on %s has no %s:\n%s", node.Name(), field, output)
			}
		}
	}
	return nil
}

// anonymous sends requests to the API server without credentials. It answers probes and
// the cluster-info that a joining host needs. It refuses the version, which attackers read first.
func anonymous(ctx context.Context, e *Env, m lab.Machine) error {
	const ask = "test $(curl -sk -o /dev/null -w '%{http_code}' https://127.0.0.1:6443"
	return e.Script(ctx, m,
		ask+"/readyz) = 200", ask+"/livez) = 200", ask+"/api/v1/namespaces/kube-public/configmaps/cluster-info) = 200",
		ask+"/version) = 401", ask+"/api) = 401", ask+"/api/v1/namespaces/kube-public/configmaps) = 401",
	)
}

// planted is a value that must be only in this Secret and in no file.
const planted = "planted-value-7d1c0e"

// encrypted creates a Secret and searches for its value in etcd's files.
func encrypted(ctx context.Context, e *Env, m lab.Machine) error {
	secret := "{apiVersion: v1, kind: Secret, metadata: {name: planted}, stringData: {password: " + planted + "}}"
	r, err := e.On(ctx, m, secret, "sh", "-c", Kubectl+"apply -f -")
	if err != nil {
		return err
	}
	if err := r.Want("create a Secret", 0); err != nil {
		return err
	}
	return e.Script(ctx, m,
		Kubectl+"create configmap openly --from-literal=text=in-the-open-7d1c0e",
		"sync",
		"grep -aqr in-the-open-7d1c0e /var/lib/etcd", // so that the next line can fail
		"! grep -aqr "+planted+" /var/lib/etcd",
		"! grep -aqr $(printf %s "+planted+" | base64) /var/lib/etcd",
		"grep -aqr /registry/secrets/default/planted /var/lib/etcd",
		"grep -aqr k8s:enc:secretbox:v1:key1: /var/lib/etcd",
		readable(),
	)
}

// readable reads the planted Secret through the API.
func readable() string {
	return `test "$(` + Kubectl + `get secret planted -o 'jsonpath={.data.password}' | base64 -d)" = ` + planted
}

// audited creates a pod, reads a Secret and creates a token. It checks that the audit log
// contains all of this, and no secret.
func audited(ctx context.Context, e *Env, m lab.Machine) error {
	const log = "/var/log/kubernetes/audit/audit.log"
	if err := e.Script(ctx, m,
		Kubectl+"run seen --image=quay.io/lab/tools:1.0 --command -- tools sleep 1",
		Kubectl+"create clusterrole noted --verb=get --resource=pods",
		Kubectl+"create configmap hushed --from-literal=text=hushed-7d1c0e",
	); err != nil {
		return err
	}
	token, err := lab.Output(ctx, m, "sh", "-c", Kubectl+"create token default")
	if err != nil {
		return err
	}
	if err := e.Book.Add(secrets.Token, "of kubectl create token", token); err != nil {
		return err
	}
	return e.Script(ctx, m,
		`grep '"verb":"create"' `+log+` | grep '"resource":"pods"' | grep '"name":"seen"' | grep -q '"level":"Metadata"'`,
		`grep '"verb":"create"' `+log+` | grep '"resource":"clusterroles"' | grep '"name":"noted"' | grep -q '"requestObject"'`,
		`grep '"verb":"get"' `+log+` | grep '"resource":"secrets"' | grep '"name":"planted"' | grep -q '"username":"kubernetes-admin"'`,
		`! grep -q '"resource":"leases"' `+log,
		"! grep -q "+planted+" "+log,
		"! grep -q $(printf %s "+planted+" | base64) "+log,
		"! grep -q hushed-7d1c0e "+log,
		Kubectl+"delete pod seen --now", // it ends repeatedly, and verify would report it
	)
}

func resetToBefore(ctx context.Context, e *Env, m lab.Machine, begun Picture) error {
	if _, err := e.Must(ctx, m, []string{"undone: ", "/var/log/kubernetes"}, "airgap", "reset", "--yes", "--wipe-data"); err != nil {
		return err
	}
	return e.MatchesPicture(ctx, m, begun, Always()...)
}

// compliant checks that airgap compliance passes, and that it reports manual changes: of a
// mode, of the kubelet's arguments, of a file's content.
func compliant(ctx context.Context, e *Env, first, worker lab.Machine) error {
	for _, m := range []lab.Machine{first, worker} {
		if _, err := e.Must(ctx, m, []string{"0 differ, 0 unknown"}, "airgap", "compliance"); err != nil {
			return err
		}
	}
	const kubelet, rules = "/etc/sysconfig/kubelet", "/etc/kubernetes/apiserver/authentication.yaml"
	for _, fault := range []struct {
		on           lab.Machine
		damage, undo string // shell
		reports      []string
	}{
		{worker, "chmod 644 /var/lib/kubelet/config.yaml", "chmod 600 /var/lib/kubelet/config.yaml", []string{"0644 /var/lib/kubelet/config.yaml", "1 differ"}},
		{worker, "touch " + kubelet + "; cp -a " + kubelet + " /root/kubelet.kept; echo KUBELET_EXTRA_ARGS='--anonymous-auth=true --authorization-mode=AlwaysAllow --read-only-port=10255' >" + kubelet + "; systemctl restart kubelet",
			"mv /root/kubelet.kept " + kubelet + "; systemctl restart kubelet", []string{"authentication.anonymous.enabled", "authorization.mode", "readOnlyPort", "3 differ"}},
		{first, "cp -a " + rules + " /root/rules.kept; sed -i '/conditions:/,$d' " + rules, "mv /root/rules.kept " + rules, []string{"everybody, at every path", "1 differ"}},
	} {
		if err := e.Script(ctx, fault.on, fault.damage); err != nil {
			return err
		}
		r, err := e.On(ctx, fault.on, "", "airgap", "compliance")
		if err != nil {
			return err
		}
		if err := errors.Join(r.Want("compliance after "+fault.damage, 4, fault.reports...), e.Script(ctx, fault.on, fault.undo)); err != nil {
			return err
		}
	}
	return nil
}

// rotated creates many Secrets and rotates the key. It kills the rotation while it writes
// the Secrets again, and then continues it. At the end, no Secret in etcd uses the old key,
// and every Secret is readable.
func rotated(ctx context.Context, e *Env, m lab.Machine) error {
	const many = `for i in $(seq 1200); do printf -- '---\n{apiVersion: v1, kind: Secret, metadata: {name: many-%d, namespace: many}, immutable: true, stringData: {word: value-%d}}\n' $i $i; done`
	if err := e.Script(ctx, m,
		Kubectl+"create namespace many",
		many+" | "+Kubectl+"create -f - >/dev/null",
		"umask 077; grep secret: /etc/kubernetes/apiserver/encryption.yaml | cut -d: -f2 | tr -d ' ' >/root/old-keys && test -s /root/old-keys",
	); err != nil {
		return err
	}
	// Kill it when the new key is the first one and the first Secret uses it.
	if err := e.Killed(ctx, m, "airgap encryption rotate", "grep -aqr k8s:enc:secretbox:v1:key2: /var/lib/etcd/member/wal"); err != nil {
		return err
	}
	if err := e.Script(ctx, m, readable(), "grep -q key1 /etc/kubernetes/apiserver/encryption.yaml"); err != nil {
		return err
	}
	r, err := e.Must(ctx, m, []string{"continue the interrupted rotation", "key2", "etcd holds no Secret of another key"}, "airgap", "encryption", "rotate")
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stderr, r.Stdout)
	const etcd = `curl -s --cacert /etc/kubernetes/pki/etcd/ca.crt --cert /etc/kubernetes/pki/apiserver-etcd-client.crt --key /etc/kubernetes/pki/apiserver-etcd-client.key https://127.0.0.1:2379/v3/kv/range -d '{"key": "'$(printf /registry/secrets/ | base64)'", "range_end": "'$(printf /registry/secrets0 | base64)'"}' | tr ',' '\n' | grep -o '"value":"[^"]*' | cut -d'"' -f4`
	return e.Script(ctx, m, readable(),
		`test "$(`+Kubectl+`get secret -n many many-1200 -o 'jsonpath={.data.word}' | base64 -d)" = value-1200`,
		`test "$(`+Kubectl+`get secret -n many -o name | wc -l)" = 1200`,
		"test $("+etcd+" | wc -l) -gt 1200",
		"! "+etcd+" | while read -r v; do echo $v | head -c 40 | base64 -d 2>/dev/null | head -c 26; echo; done | grep -avx k8s:enc:secretbox:v1:key2:",
		"! grep -q key1 /etc/kubernetes/apiserver/encryption.yaml",
		"! grep -qFf /root/old-keys /etc/kubernetes/apiserver/encryption.yaml",
		"test $(stat -c '%a %U' /etc/kubernetes/apiserver/encryption.yaml | tr ' ' _) = 600_root",
		"rm /root/old-keys",
	)
}
