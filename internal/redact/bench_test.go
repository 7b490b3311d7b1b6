package redact

import (
	"io"
	"strings"
	"testing"
)

// BenchmarkBundle is a support bundle's 20 MB: lines as kubelet, runtime, kernel, dnf and the API
// server write them, settings, and a few secrets.
func BenchmarkBundle(b *testing.B) {
	const lines = `Nov 23 10:00:00 node1 kubelet[1234]: E1123 10:00:00.123456 1234 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"x\"" pod="kube-system/coredns-abc" podUID="1-2-3"
Nov 23 10:00:00 node1 containerd[900]: time="2026-11-23T10:00:00.1Z" level=info msg="PullImage \"registry.k8s.io/coredns/coredns@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\" returns image reference"
Nov 23 10:00:01 node1 kernel: IPv6: ADDRCONF(NETDEV_CHANGE): cali0123456789a: link becomes ready
{"level":"info","ts":"2026-11-23T10:00:00.123456Z","caller":"mvcc/kvstore_compaction.go:68","msg":"finished scheduled compaction","compact-revision":123456,"took":"3.123ms","hash":12345678}
I1123 10:00:00.123456       1 httplog.go:132] "HTTP" verb="GET" URI="/api/v1/nodes?fieldSelector=metadata.name%3Dnode1&limit=500" latency="1.2ms" userAgent="kubelet/v1.36.3" audit-ID="0d8f3f0a-8a7d-4d4e-9a3c-0123456789ab" srcIP="10.0.0.11:4242" resp=200
2026-11-23T10:00:00+0000 DEBUG timer: sack setup: 123 ms; repo: using cache for: airgap; keepcache: 0
-A KUBE-SERVICES -d 10.96.0.10/32 -p udp -m comment --comment "kube-system/kube-dns:dns cluster IP" -m udp --dport 53 -j KUBE-SVC-TCOU7JCQXEZGVUNU
net.ipv4.conf.all.rp_filter = 0
  - --service-account-signing-key-file=/etc/kubernetes/pki/sa.key
  password: hunter2-and-more
`
	text := strings.Repeat(lines, (20<<20)/len(lines)+1)
	var book Book
	for i := range 50 {
		book.Add([]byte(strings.Repeat("secret", 30) + strings.Repeat("x", i)))
	}
	r := New(&book)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w := r.Writer(io.Discard)
		_, _ = io.WriteString(w, text)
		_ = w.Close()
	}
}
