package scenario

import (
	"context"

	"airgap.dev/airgap/e2e/lab"
)

// supportBundles checks the main parts of the support bundles of a control-plane host and a
// worker. It keeps the archives, because the search for secrets reads them.
func supportBundles(ctx context.Context, e *Env, first, worker lab.Machine) error {
	if err := supportBundle(ctx, e, first,
		"grep -q 'steps are up to date' status.txt && grep -q '2 of 2 nodes ready' status.txt && grep -q '\"cluster\": \""+e.ClusterName()+"\"' status.json",
		"grep -q '\"rules\":' reports/verify.json && grep -q nodes-ready reports/verify.json && test -s reports/verify.txt",
		"grep -q '\"results\":' reports/preflight.json && test -s reports/preflight.txt",
		"grep -q 'etcd/server.crt' reports/certificates.txt && grep -q 'bootID: '$(cat /proc/sys/kernel/random/boot_id) reports/node-report.yaml",
		"ls logs/pods/kube-system_etcd-"+first.Name()+"_*/etcd-0.log logs/pods/kube-system_kube-apiserver-"+first.Name()+"_*/kube-apiserver-0.log",
		"test -s logs/airgap-registry.log && test -s airgap/journal.jsonl && ls airgap/*.log && test -s config/etc/airgap/kubeadm.yaml",
		"test -s config/etc/kubernetes/manifests/kube-apiserver.yaml && ! find . -name '*.key' -o -name admin.conf -o -name encryption.yaml -o -name '*.htpasswd' | grep .",
		"grep -q '^- *"+first.Name()+" .*Ready' cluster/nodes.txt && grep -q '^kube-system *coredns' cluster/pods.txt && head -n 1 cluster/events.txt | grep -q REASON",
		"grep -q '\"redacted\":' contents.json",
	); err != nil {
		return err
	}
	return supportBundle(ctx, e, worker,
		"grep -q 'this node is ready' status.txt && ! test -e cluster/nodes.txt && grep -q 'a control-plane host.s bundle has it' README.txt",
	)
}

// supportFile is the path of a host's support bundle.
func supportFile(m lab.Machine) string { return "/var/tmp/airgap-support-" + m.Name() + ".tar.gz" }

// supportBundle makes a support bundle, unpacks it, and runs the checks in its directory.
func supportBundle(ctx context.Context, e *Env, m lab.Machine, checks ...string) error {
	file := supportFile(m)
	if _, err := e.Must(ctx, m, []string{file, "removed secrets: "}, "airgap", "support-bundle", "--file", file); err != nil {
		return err
	}
	const open = "cd /run/support && "
	lines := []string{
		"[ $(stat -c %a " + file + ") = 600 ] && [ $(stat -c %s " + file + ") -le 20000000 ]",
		"! airgap support-bundle --file " + file + " 2>/run/said && grep -q 'the file already exists' /run/said && rm /run/said",
		"mkdir /run/support && tar xzf " + file + " --strip-components=1 -C /run/support",
		open + "test -s README.txt && grep -q '<a href=\"status.txt\">' index.html && ! grep -Eqi '<script|https?:' index.html",
		open + "test -s reports/facts.yaml && test -s logs/kubelet.log && test -s logs/containerd.log && test -s host/units.txt",
		open + "grep -q SystemdCgroup config/runtime-effective.toml && grep -q '\"cgroupDriver\": \"systemd\"' config/kubelet-effective.json && ls config/etc/containerd/certs.d/*/hosts.toml",
		open + "test -s network/addresses.txt && test -s network/routes.txt && grep -qi kube network/nft.txt network/iptables.txt && (test -s host/modules.txt || ! test -e /proc/modules) && test -s host/disks.txt && test -s host/mounts.txt",
	}
	for _, c := range checks {
		lines = append(lines, open+c)
	}
	return e.Script(ctx, m, append(lines, "rm -r /run/support", "test -z \"$(find /var/tmp -name '.airgap-support*')\"")...)
}
