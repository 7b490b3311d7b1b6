package scenario

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

//go:embed cluster.sh
var clusterScript string

// Cluster is a picture of the cluster as its first host sees it.
func Cluster(ctx context.Context, e *Env, m lab.Machine) (Picture, error) {
	r, err := e.On(ctx, m, clusterScript, "sh")
	if err != nil {
		return nil, err
	}
	if err := r.Want("take a picture of the cluster", 0); err != nil {
		return nil, err
	}
	p := Picture{}
	for line := range strings.Lines(r.Stdout) {
		p[strings.TrimSpace(line)]++
	}
	return p.normal(), nil
}

// made are names that are new in every installation, and what stands for them.
var made = []struct {
	pattern *regexp.Regexp
	as      string
}{
	// As in files, in slices, and in the names of mount units.
	{regexp.MustCompile(`[0-9a-f]{8}(?:(?:-|_|\\x2d)[0-9a-f]{4}){3}(?:-|_|\\x2d)[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`[0-9a-f]{64}`), "ID"},
	{regexp.MustCompile(`\b(pod)?[0-9a-f]{32}\b`), "${1}UID"},
	{regexp.MustCompile(`\b(coredns-[0-9a-f]+|kube-proxy|kube-flannel-ds|kube-dns|data-plane)-[0-9a-z]{5}\b`), "$1-XXXXX"},
	{regexp.MustCompile(`(kube(?:-|\\x2d)api(?:-|\\x2d)access(?:-|\\x2d))[0-9a-z]{5}`), "${1}XXXXX"},
	{regexp.MustCompile(`\bveth[0-9a-f]{8}\b`), "vethX"},
	{regexp.MustCompile(`@if[0-9]+`), "@ifN"},
	{regexp.MustCompile(`\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`), "MAC"},
	{regexp.MustCompile(`\bfe80::[0-9a-f:]+`), "fe80::X"},
	{regexp.MustCompile(`\b10\.244\.([0-9]+)\.[0-9]+\b`), "10.244.$1.X"},
	{regexp.MustCompile(`\b10\.96\.[1-9][0-9]*\.[0-9]+\b`), "10.96.X"}, // of Services that did not ask for one
	{regexp.MustCompile(`\bdport 3[0-2][0-9]{3}\b`), "dport NODEPORT"},
	{regexp.MustCompile(`\bKUBE-SEP-[A-Z0-9]{16}\b`), "KUBE-SEP-X"},
	{regexp.MustCompile(`\b127\.0\.0\.1:[3-6][0-9]{4}\b`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\bapiserver-[0-9a-z]{26}\b`), "apiserver-ID"},
	{regexp.MustCompile(`/pod-resources/[0-9]+$`), "/pod-resources/N"},
}

// normal is the picture with one word for every name that was made up.
func (p Picture) normal() Picture {
	n := Picture{}
	for line, count := range p {
		for _, m := range made {
			line = m.pattern.ReplaceAllString(line, m.as)
		}
		n[line] += count
	}
	return n
}

// AsCluster takes a picture of the cluster and wants it to equal an earlier one.
func AsCluster(ctx context.Context, e *Env, m lab.Machine, before Picture) error {
	now, err := Cluster(ctx, e, m)
	if err != nil {
		return err
	}
	return Equal(e, now, before, "the cluster", Exception{`^[+-] object\t(Secret|Role|RoleBinding) +kube-system +(bootstrap-token|airgap-join|airgap-parcel)-`, "codes for joining, one for each run that changed something"})
}

// AsInstalled takes a picture of a node and wants it to equal an earlier one of
// the same node in another life.
func AsInstalled(ctx context.Context, e *Env, m lab.Machine, before Picture) error {
	now, err := LivePicture(ctx, e, m)
	if err != nil {
		return err
	}
	return Equal(e, now.normal(), before.normal(), fmt.Sprintf("%s, killed and started again,", m.Name()), anotherLife()...)
}

// anotherLife are the differences between two installations of the same node.
func anotherLife() []Exception {
	return append(append(Alive(), Always()...),
		Exception{`^[+-] (file|content)\t.* ?/etc/(kubernetes|airgap)/.*\.(crt|key|pub|conf)( \d+)?$`, "keys and certificates are made anew, and their length differs"},
		Exception{`^[+-] content\t.* /etc/kubernetes/.*(encryption|keys).*$`, "so is the key that Secrets are encrypted with"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/airgap/(journal\.jsonl|join/cluster\.json)( \d+)?$`, "the journal tells what happened; the cluster's CA is another one"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/airgap/dnf/`, "dnf's cache and history have times in them"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/airgap/backup/`, "backups are named by when they were taken, and hold etcd"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/airgap/backup-key/airgap\.(key|pub)( \d+)?$`, "the key that backups are signed with is made anew"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/cni/`, "pods have other addresses"},
		Exception{`^[+-] (listens\t/run/user/0/gnupg/|process\tgpg-agent$)`, "an agent that dnf's gpg started, which ends with its directory or at a power cut"},
		Exception{`^[+-] nft\t(.*(XT target (DNAT|MASQUERADE) not found|masquerade fully-random|dnat to [0-9.:X]+))?$`, "nft does not find the words for iptables' targets each time it is asked"},
		Exception{`^- run\t[df] /run/airgap(/kubeadm\.lock)?$`, "the lock of kubeadm, until a power cut"},
		Exception{`^[+-] content\t.* /root/code$`, "the scenario's own: the one-time code"},
	)
}

// Alive are the differences that a running cluster makes by itself.
func Alive() []Exception {
	return []Exception{
		{`^[+-] (file|content)\t.* ?/var/lib/kubelet/`, "the kubelet renews what pods see"},
	}
}
