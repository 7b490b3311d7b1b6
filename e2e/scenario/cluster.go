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

// Cluster takes a picture of the cluster on its first host.
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

// generated are names that are new in every installation, and their replacements.
var generated = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	// UIDs in files, in slices, and in the names of mount units.
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
	{regexp.MustCompile(`\b10\.96\.[1-9][0-9]*\.[0-9]+\b`), "10.96.X"}, // of Services without a requested address
	{regexp.MustCompile(`\bdport 3[0-2][0-9]{3}\b`), "dport NODEPORT"},
	{regexp.MustCompile(`\bKUBE-SEP-[A-Z0-9]{16}\b`), "KUBE-SEP-X"},
	{regexp.MustCompile(`\bCNI-DN-[0-9a-f]{21}\b`), "CNI-DN-X"}, // of a pod's hostPort
	{regexp.MustCompile(`\b127\.0\.0\.1:[3-6][0-9]{4}\b`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`\bapiserver-[0-9a-z]{26}\b`), "apiserver-ID"},
	{regexp.MustCompile(`/pod-resources/[0-9]+$`), "/pod-resources/N"},
}

// normal returns the picture with replacements for all generated names.
func (p Picture) normal() Picture {
	n := Picture{}
	for line, count := range p {
		for _, g := range generated {
			line = g.pattern.ReplaceAllString(line, g.replacement)
		}
		n[line] += count
	}
	return n
}

// AsCluster takes a picture of the cluster and compares it with an earlier one.
func AsCluster(ctx context.Context, e *Env, m lab.Machine, before Picture) error {
	now, err := Cluster(ctx, e, m)
	if err != nil {
		return err
	}
	return Equal(e, now, before, "the cluster", Exception{`^[+-] object\t(Secret|Role|RoleBinding) +kube-system +(bootstrap-token|airgap-join|airgap-parcel)-`, "join tokens, one for each run that changed something"})
}

// AsInstalled takes a picture of a node and compares it with one of an earlier installation
// of the same node.
func AsInstalled(ctx context.Context, e *Env, m lab.Machine, before Picture) error {
	now, err := LivePicture(ctx, e, m)
	if err != nil {
		return err
	}
	return Equal(e, now.normal(), before.normal(), fmt.Sprintf("%s, killed and started again,", m.Name()), reinstalled()...)
}

// reinstalled returns the allowed differences between two installations of a node.
func reinstalled() []Exception {
	return append(append(Alive(), Always()...),
		Exception{`^[+-] (file|content)\t.* ?/etc/(kubernetes|airgap)/.*\.(crt|key|pub|conf)( \d+)?$`, "keys and certificates are new, and their length differs"},
		Exception{`^[+-] content\t.* /etc/kubernetes/.*(encryption|keys).*$`, "the encryption key of the Secrets is new"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/airgap/(journal\.jsonl|join/cluster\.json)( \d+)?$`, "the journal has other entries; the cluster's CA is new"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/airgap/dnf/`, "dnf's cache and history contain times"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/airgap/backup/`, "the names of backups contain times, and backups contain etcd's data"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/airgap/backup-key/airgap(-[0-9a-f]{16})?\.(key|pub)( \d+)?$`, "the signing key of backups is new"},
		Exception{`^[+-] (file|content)\t.* ?/var/lib/cni/`, "pods have other addresses"},
		Exception{`^[+-] (listens\t/run/user/0/gnupg/|process\tgpg-agent$)`, "an agent that dnf's gpg started; it ends with its directory or at a power cut"},
		Exception{`^[+-] nft\t(.*(XT target (DNAT|MASQUERADE) not found|masquerade( fully-random)?|dnat to [0-9.:X]+))?$`, "nft cannot always translate iptables' targets"},
		Exception{`^- run\t[df] /run/airgap(/kubeadm\.lock)?$`, "kubeadm's lock, which exists until a power cut"},
		Exception{`^[+-] content\t.* /root/code$`, "the scenario's file with the join token"},
	)
}

// Alive returns the differences that a running cluster makes without any command.
func Alive() []Exception {
	return []Exception{
		{`^[+-] (file|content)\t.* ?/var/lib/kubelet/`, "the kubelet renews the pods' volumes"},
	}
}
