package support

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/cluster/support/supporttest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
)

const encryptionFile = "kind: EncryptionConfiguration\nresources:\n- providers:\n  - secretbox:\n      keys:\n"

// sickHost is a root directory with many secrets. Each secret is in its usual file, and in poison, the text of every
// log, configuration and command.
type sickHost struct {
	Dir     string
	secrets map[string]string // by description
	poison  string
}

const harmless = "HARMLESS-WORDS-AROUND"

func (s *sickHost) Write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func newSickHost(t *testing.T, api string) *sickHost {
	t.Helper()
	s := &sickHost{Dir: t.TempDir(), secrets: map[string]string{}}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(ec)
	registryKey := sitetest.PEM(t, "EC PRIVATE KEY", sec1, err)
	pkcs8, err := x509.MarshalPKCS8PrivateKey(ec)
	clientKey := sitetest.PEM(t, "PRIVATE KEY", pkcs8, err)
	caKey := sitetest.PEM(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(r), nil)
	number, err := ec.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	s.secrets["the registry's key"], s.secrets["the cluster's key"] = string(number), string(r.Primes[0].Bytes())
	random := func(n int) string { return strings.ToLower(rand.Text())[:n] }
	encryption := []byte("0123456789" + random(22))
	token, code, seal := random(6)+"."+random(16), random(6)+"."+random(16), random(26)
	jwt := "eyJhbGciOiJSUzI1NiIsImtpZCI6IngifQ.eyJhdWQiOlsiYSJdLCJzdWIiOiJ4In0." + rand.Text() + rand.Text()
	hash := "$2y$10$" + rand.Text() + rand.Text()[:22] + "abcde"
	password, proxy, signature, data := "pw"+rand.Text(), "px"+rand.Text(), hex.EncodeToString([]byte(rand.Text())), "dt"+rand.Text()
	maps.Copy(s.secrets, map[string]string{
		"encryption key": string(encryption), "bootstrap token": token, "code": code, "seal": seal, "a pod's token": jwt[strings.LastIndex(jwt, ".")+1:],
		"hash": hash, "password": password, "proxy's password": proxy, "signature": signature, "a Secret's data": data,
	})
	encoded := base64.StdEncoding.EncodeToString
	kubeconfig := "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters:\n- name: a\n  cluster: {server: " + api + "}\n" +
		"contexts:\n- name: a\n  context: {cluster: a, user: a}\nusers:\n- name: a\n  user:\n    token: " + code + "\n"
	for name, text := range map[string]string{
		"etc/airgap/pki/ca.key": registryKey, "etc/airgap/registry.htpasswd": "bank:" + hash + "\n", "etc/kubernetes/pki/ca.key": caKey, "etc/kubernetes/pki/etcd/ca.key": clientKey,
		"etc/kubernetes/admin.conf":                                                      "#    client-key-data: " + encoded([]byte(clientKey)) + "\n" + kubeconfig,
		"etc/kubernetes/bootstrap-kubelet.conf":                                          "token: " + token + "\n",
		"etc/kubernetes/apiserver/encryption.yaml":                                       encryptionFile + "      - {name: a, secret: " + encoded(encryption) + "}\n",
		"var/lib/kubelet/pods/1-2/volumes/kubernetes.io~projected/kube-api-access/token": jwt, "var/lib/kubelet/pods/1-2/volumes/kubernetes.io~secret/a/value": data,
		"var/lib/airgap/backup/20260101T000000Z/etc/kubernetes/pki/ca.key": caKey, "proc/sys/kernel/osrelease": "5.14.0\n",
		"var/lib/dnf/history.sqlite": "a database\n",
	} {
		s.Write(t, name, text)
	}
	lines := strings.Split(strings.TrimSpace(caKey), "\n")
	s.poison = harmless + " begin\n" + registryKey + clientKey +
		"Nov 23 10:00:00 n1 app[1]: " + strings.Join(lines, "\nNov 23 10:00:00 n1 app[1]: ") + "\n" +
		"Nov 23 key " + encoded(pkcs8) + " and " + hex.EncodeToString(x509.MarshalPKCS1PrivateKey(r)) + "\n" +
		"    client-key-data: " + encoded([]byte(clientKey)) + "\n  wrapped:\n    " + encoded([]byte(caKey))[:1000] + "\n    " + encoded([]byte(caKey))[1000:] + "\n" +
		"secret: " + encoded(encryption) + " raw " + string(encryption) + " hex " + hex.EncodeToString(encryption) + "\n" +
		"joins with " + token + ", and with " + code + "." + seal + "\n" +
		"Authorization: Bearer " + jwt + "\n{\"token\": \"" + jwt + "\"}\n" +
		"bank:" + hash + "\n" +
		"Basic " + encoded([]byte("bank:"+password)) + "\n--password " + password + "\n{\"msg\":\"{\\\"password\\\":\\\"" + password + "\\\"}\"}\n" +
		"proxy_password = " + proxy + "\nHTTPS_PROXY=http://bank:" + proxy + "@10.0.0.1:3128/\n" +
		"GET https://s3.bank/x?X-Amz-Signature=" + signature + "&limit=1 200\n" +
		"kind: Secret\ndata:\n  value: " + encoded([]byte(data)) + "\nplain " + data + " of a pod\n" +
		harmless + " end\n"
	for _, name := range []string{
		"var/log/airgap/install.log", "var/log/airgap/hosts/node2.log", "var/lib/airgap/journal.jsonl", "var/log/dnf.rpm.log", "etc/airgap/kubeadm.yaml", "etc/containerd/config.toml",
		"etc/containerd/certs.d/_default/hosts.toml", "etc/kubernetes/manifests/kube-apiserver.yaml", "var/lib/kubelet/config.yaml", "etc/sysconfig/kubelet", "etc/dnf/dnf.conf",
		"etc/systemd/system/containerd.service.d/proxy.conf", "var/log/pods/kube-system_etcd-n1_1234567890/etcd/0.log", "var/log/pods/kube-system_etcd-n1_1234567890/etcd/1.log",
		"var/log/pods/kube-system_etcd-n1_1234567890/etcd/2.log", "var/log/pods/kube-flannel_x_1/kube-flannel/0.log", "var/log/pods/bank_app_1/app/0.log", "proc/cmdline",
	} {
		s.Write(t, name, s.poison)
	}
	s.Write(t, "var/log/pods/kube-system_kube-apiserver-n1_2/kube-apiserver/0.log", s.poison+strings.Repeat("an old line\n", 300_000)+s.poison)
	return s
}

// formsOf returns the encodings of a secret that the archive must not contain.
func formsOf(secret string) []string {
	all := []string{secret, hex.EncodeToString([]byte(secret))}
	for n := range 3 {
		encoded := base64.StdEncoding.EncodeToString(append(make([]byte, n), secret...))
		all = append(all, encoded[n+1:len(encoded)-4])
	}
	return all
}

// table answers like an API server that supports tables.
func table(w http.ResponseWriter, r *http.Request, message string) {
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/version" || r.URL.Path == "/readyz" {
		fmt.Fprint(w, `{"gitVersion":"v1.36.3"}`)
		return
	}
	if !strings.Contains(r.Header.Get("Accept"), "as=Table") {
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "NodeList", "items": []any{map[string]any{"message": message}}})
		return
	}
	row := map[string]any{"cells": []any{message, 3}, "object": map[string]any{"kind": "PartialObjectMetadata", "metadata": map[string]any{"name": "a", "namespace": "bank"}}}
	meta := map[string]any{"continue": "more"}
	if r.URL.Query().Get("continue") != "" {
		meta = map[string]any{}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Table", "metadata": meta, "columnDefinitions": []any{map[string]any{"name": "Message"}, map[string]any{"name": "Count"}}, "rows": []any{row}})
}

// TestSupportBundleHasNoSecrets adds secrets of every kind to every kind of part. The archive must contain none of
// them, and all text around them.
func TestSupportBundleHasNoSecrets(t *testing.T) {
	var s *sickHost
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { table(w, r, s.poison) }))
	defer api.Close()
	s = newSickHost(t, api.URL)
	e := &Evidence{Machine: kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.RootHost{Dir: s.Dir, Says: s.poison}, Root: s.Dir}}}}
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	var stdout, text, stderr bytes.Buffer
	collected, err := Collect(t.Context(), file, e, ui.New(&stderr, ui.JSON))
	if err := errors.Join(err, json.NewEncoder(&stdout).Encode(collected), collected.Write(&text)); err != nil {
		t.Fatal(err)
	}
	files := supporttest.UnpackFile(t, file)
	files["stdout"], files["text"], files["stderr"] = stdout.String(), text.String(), stderr.String()
	for name, text := range files {
		for what, secret := range s.secrets {
			for _, form := range formsOf(secret) {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("%s has %s:\n%.300s", name, what, text[max(0, at-100):])
				}
			}
		}
	}
	for _, name := range []string{
		"airgap/journal.jsonl", "airgap/install.log", "airgap/hosts/node2.log", "host/units.txt", "host/kernel.txt", "network/addresses.txt", "network/iptables.txt", "network/nft.txt",
		"packages/dnf-history.txt", "packages/dnf.rpm.log", "cluster/events.txt", "cluster/nodes.json", "config/runtime-effective.toml", "config/etc/airgap/kubeadm.yaml",
		"config/etc/containerd/certs.d/_default/hosts.toml", "config/etc/kubernetes/manifests/kube-apiserver.yaml", "config/var/lib/kubelet/config.yaml", "config/etc/dnf/dnf.conf",
		"logs/kubelet.log", "logs/kernel.log", "logs/pods/kube-system_etcd-n1_12345678/etcd-2.log", "logs/pods/kube-system_etcd-n1_12345678/etcd-1.log", "logs/pods/kube-flannel_x_1/kube-flannel-0.log",
		"logs/pods/kube-system_kube-apiserver-n1_2/kube-apiserver-0.log",
	} {
		if !strings.Contains(files[name], harmless+" begin") || !strings.Contains(files[name], harmless+" end") || !strings.Contains(files[name], "[redacted:") {
			t.Errorf("%s is\n%.2000s", name, files[name])
		}
	}
	for name, text := range files {
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is no longer valid JSON:\n%s", name, text)
		}
		notHere := func(part string) bool { return strings.Contains(name, part) }
		if strings.HasSuffix(name, ".key") || slices.ContainsFunc([]string{"etcd-0.log", "bank_app", "admin.conf", "encryption.yaml"}, notHere) {
			t.Errorf("the archive must not contain %s", name)
		}
	}
	if log := files["logs/pods/kube-system_kube-apiserver-n1_2/kube-apiserver-0.log"]; !strings.HasPrefix(log, "=== airgap: cut: the newest ") || len(log) > 3*some {
		t.Errorf("a long log begins\n%.300s", log)
	}
	var result Collected
	if err := json.Unmarshal(stdout.Bytes(), &result); err != nil || result.File != file || result.Bytes == 0 || result.Redacted["known"] == 0 || result.Redacted["field"] == 0 {
		t.Errorf("the result is %v, %+v", err, result)
	}
	if !strings.Contains(files["README.txt"], "network/nft.txt") || !strings.Contains(files["README.txt"], "nft failed: "+harmless) {
		t.Errorf("README.txt is\n%s", files["README.txt"])
	}
}

// TestNoKeyIsListed: configFiles returns no file of the table in docs/security.md.
func TestNoKeyIsListed(t *testing.T) {
	s := &sickHost{Dir: t.TempDir()}
	secret := []string{
		"etc/airgap/pki/ca.key", "etc/airgap/pki/registry.key", "etc/airgap/registry.htpasswd", "etc/kubernetes/pki/ca.key", "etc/kubernetes/admin.conf", "etc/kubernetes/kubelet.conf",
		"etc/kubernetes/apiserver/encryption.yaml", "etc/cni/net.d/calico-kubeconfig.conf", "etc/airgap/cni/net.d/calico-kubeconfig", "etc/containerd/conf.d/client.key",
		"var/lib/airgap/backup/x/etc/kubernetes/manifests/a.yaml", "etc/fapolicyd/rules.d/a.pem",
	}
	for _, name := range append(secret, "etc/kubernetes/apiserver/audit-policy.yaml") {
		s.Write(t, name, "x")
	}
	e := &Evidence{Machine: kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.RootHost{Dir: s.Dir}}}}}
	if got := e.configFiles(); !slices.Equal(got, []string{"etc/kubernetes/apiserver/audit-policy.yaml"}) {
		t.Errorf("listed %v", got)
	}
}

// TestSupportBundleLeavesNothing: Ctrl-C and an impossible file name leave no file behind.
func TestSupportBundleLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	e := &Evidence{Machine: kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: interruptedHost{sitetest.RootHost{Dir: t.TempDir()}, cancel}}}}}
	if _, err := Collect(ctx, filepath.Join(dir, "a.tar.gz"), e, ui.Discard()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := Collect(t.Context(), filepath.Join(dir, "none", "a.tar.gz"), e, ui.Discard()); err == nil {
		t.Error("wrote to a directory that does not exist")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// interruptedHost receives Ctrl-C while journalctl runs.
type interruptedHost struct {
	sitetest.RootHost
	cancel func()
}

func (h interruptedHost) Run(ctx context.Context, cmd host.Cmd) ([]byte, error) {
	if cmd.Name != "journalctl" {
		return nil, nil
	}
	h.cancel()
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestSupportBundleAbout: the file name has the host name and the time.
func TestSupportBundleAbout(t *testing.T) {
	about := About{Host: "node1.bank", Time: time.Date(2026, 11, 23, 8, 1, 2, 0, time.UTC)}
	if got := about.Name(); got != "airgap-support-node1.bank-20261123T080102Z" {
		t.Errorf("got %s", got)
	}
}
