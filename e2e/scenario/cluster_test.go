package scenario

import "testing"

// TestNormal checks that pictures of two installations of a node are equal despite their
// generated names.
func TestNormal(t *testing.T) {
	for _, installations := range [][2]string{
		{
			`mount	/var/lib/kubelet/pods/9e0b9a51-7b0e-4f4e-9a9e-2b1f0a1c2d3e/volumes/kubernetes.io~projected/kube-api-access-x7k2p tmpfs`,
			`mount	/var/lib/kubelet/pods/1e0b9a51-7b0e-4f4e-9a9e-2b1f0a1c2d3e/volumes/kubernetes.io~projected/kube-api-access-abcde tmpfs`,
		},
		{
			`unit	var-lib-kubelet-pods-9e0b9a51\x2d7b0e\x2d4f4e\x2d9a9e\x2d2b1f0a1c2d3e-volumes-kubernetes.io\x7eprojected-kube\x2dapi\x2daccess\x2dx7k2p.mount loaded active`,
			`unit	var-lib-kubelet-pods-1e0b9a51\x2d7b0e\x2d4f4e\x2d9a9e\x2d2b1f0a1c2d3e-volumes-kubernetes.io\x7eprojected-kube\x2dapi\x2daccess\x2dabcde.mount loaded active`,
		},
		{
			`cgroup	/sys/fs/cgroup/cpu/kubepods.slice/kubepods-besteffort-pod9e0b9a51_7b0e_4f4e_9a9e_2b1f0a1c2d3e.slice`,
			`cgroup	/sys/fs/cgroup/cpu/kubepods.slice/kubepods-besteffort-pod1e0b9a51_7b0e_4f4e_9a9e_2b1f0a1c2d3e.slice`,
		},
		{
			`unit	kubepods-burstable-pod0123456789abcdef0123456789abcdef.slice loaded active`,
			`unit	kubepods-burstable-podf123456789abcdef0123456789abcdef.slice loaded active`,
		},
		{`object	Pod kube-system coredns-589f44dc88-5ztpk`, `object	Pod kube-system coredns-589f44dc88-abcde`},
		{`link	veth0a1b2c3d@if2 UP 0a:58:0a:f4:00:01 <BROADCAST>`, `link	veth99999999@if3 UP 1a:58:0a:f4:00:02 <BROADCAST>`},
		{`nft	-A KUBE-SEP-ABCDEFGHIJKLMNOP -s 10.244.0.2/32`, `nft	-A KUBE-SEP-PONMLKJIHGFEDCBA -s 10.244.0.9/32`},
		{`nft	meta l4proto tcp  tcp dport 10479 counter jump CNI-DN-06e68ae1bfe59bc54526e`, `nft	meta l4proto tcp  tcp dport 10479 counter jump CNI-DN-f79e2345bf797942dd226`},
		{`pod	airgap-system/data-plane-4bpjl Running node1`, `pod	airgap-system/data-plane-njnbl Running node1`},
		{
			`nft	meta l4proto tcp ip daddr 10.96.163.143  tcp dport 80 counter jump KUBE-SVC-X`,
			`nft	meta l4proto tcp ip daddr 10.96.168.151  tcp dport 80 counter jump KUBE-SVC-X`,
		},
		{`nft	meta l4proto tcp  tcp dport 31061 counter jump KUBE-EXT-X`, `nft	meta l4proto tcp  tcp dport 31343 counter jump KUBE-EXT-X`},
		{`listens	tcp 127.0.0.1:41233`, `listens	tcp 127.0.0.1:36001`},
		{`address	cni0 UP 10.244.1.1/24 fe80::858:aff:fef4:1/64`, `address	cni0 UP 10.244.1.1/24 fe80::9858:1ff:fef4:2/64`},
		{`sysctl	net.ipv4.conf.veth0a1b2c3d.forwarding = 1`, `sysctl	net.ipv4.conf.vethffffffff.forwarding = 1`},
	} {
		one, other := installations[0], installations[1]
		a, b := Picture{one: 1}.normal(), Picture{other: 1}.normal()
		if lines := a.difference(b); len(lines) > 0 {
			t.Errorf("still different: %q", lines)
		}
	}
	// Names that identify a cluster must not be replaced.
	for one, other := range map[string]string{
		`node	node1 v1.36.3 10.244.0.0/24`:     `node	node1 v1.36.3 10.244.1.0/24`,
		`listens	tcp 127.0.0.1:10248`:          `listens	tcp 127.0.0.1:10249`,
		`nft	ip daddr 10.96.0.1 tcp dport 443`: `nft	ip daddr 10.96.0.10 tcp dport 443`,
		`pod	kube-system/etcd-node1`:           `pod	kube-system/etcd-node2`,
	} {
		if len(Picture{one: 1}.normal().difference(Picture{other: 1}.normal())) == 0 {
			t.Errorf("got no difference between %q and %q", one, other)
		}
	}
}
