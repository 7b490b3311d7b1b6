package kubeadm

import (
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
)

// oneHost is what a replacement asks of a cluster.
type oneHost struct {
	Cluster

	hosts   []string
	revoked int
}

func (c *oneHost) Hosts(context.Context) ([]string, error) { return c.hosts, nil }

func (c *oneHost) Revoke(context.Context) (int, error) { c.revoked++; return 0, nil }

// allTrusted is an error when a program runs that does not trust one of etcd's
// certificates, as they lie in the files.
func (c *controlPlane) allTrusted() {
	c.t.Helper()
	for _, part := range []string{"etcd", "kube-apiserver"} {
		for _, name := range Authorities()[0].leaves {
			leaf, err := firstCertificate([]byte(c.f.get(name)))
			if err != nil {
				c.t.Fatal(err)
			}
			if _, err := leaf.Verify(x509.VerifyOptions{Roots: c.trusted[part], KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
				c.t.Errorf("%s does not trust %s: %v", part, name, err)
			}
		}
	}
}

// TestReplacementGoesOn cuts a replacement at each restart, and runs it again.
// Whatever the moment, nobody meets a certificate that it does not trust.
func TestReplacementGoesOn(t *testing.T) {
	etcd := Authorities()[0]
	cuts := 0
	for at := 1; ; at++ {
		c, cluster := newControlPlane(t), &oneHost{hosts: []string{"cp1"}}
		ctx, kill := context.WithCancel(t.Context())
		restarts := 0
		c.stop = func(string) error {
			c.allTrusted()
			if restarts++; restarts == at {
				kill()
				return errors.New("cut")
			}
			return nil
		}
		old := c.f.get(etcd.file)
		r := Replacement{Machine: c.m, Authority: etcd, Cluster: cluster, Say: t.Logf}
		_, err := r.Run(ctx)
		kill()
		if err != nil {
			cuts++
			if _, err := Pack(c.m); err == nil || !strings.Contains(err.Error(), "the authority of etcd is being replaced") {
				t.Errorf("keys for a joining host amid it: %v", err)
			}
			if done, err := r.Run(t.Context()); err != nil || !done.Resumed {
				t.Fatalf("cut at restart %d, again: %+v, %v", at, done, err)
			}
		}
		c.allTrusted()
		if now := c.f.get(etcd.file); now == old || strings.Count(now, "BEGIN") != 1 {
			t.Errorf("cut at restart %d: the authority is\n%s", at, now)
		}
		c.readCA(etcd)
		if left, err := c.m.unsigned(etcd.leaves, []byte(c.f.get(etcd.file))); err != nil || len(left) > 0 {
			t.Errorf("cut at restart %d: not signed by the new authority: %v, %v", at, left, err)
		}
		if c.f.has(nextDir) || c.f.has(renewalFile) || cluster.revoked != 1 {
			t.Errorf("cut at restart %d: something is left; codes revoked %d times", at, cluster.revoked)
		}
		if restarts < at {
			break // that run was not cut
		}
	}
	if cuts != 7 { // etcd and the API server, the three of a renewal, and both again
		t.Errorf("%d cuts, want 7", cuts)
	}
}

// TestReplacementRefused: with several hosts nothing is changed.
func TestReplacementRefused(t *testing.T) {
	c, etcd := newControlPlane(t), Authorities()[0]
	old := c.f.get(etcd.file)
	_, err := Replacement{Machine: c.m, Authority: etcd, Cluster: &oneHost{hosts: []string{"cp1", "cp2"}}, Say: t.Logf}.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "cp1, cp2") || c.f.get(etcd.file) != old || c.f.has(nextDir) || len(c.stopped) > 0 {
		t.Errorf("it said %v", err)
	}
}
