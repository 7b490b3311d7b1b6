package secrets

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Rule says where secrets of some kinds may be.
type Rule struct {
	Path  string // on a server; * is anything within a name, ** anything
	Kinds []Kind
	Mode  fs.FileMode // at most
	Group string      // that may read it, "" for root alone
	Why   string
}

// Rules are all places on a server at which a secret may be. Everywhere else,
// and with a wider mode, it is a finding.
func Rules() []Rule {
	const (
		own    = 0o600
		kubelt = "only root comes so far: the kubelet's directory is closed"
	)
	return []Rule{
		{"/etc/airgap/pki/ca.key", []Kind{Key}, own, "", "signs the registry's certificates"},
		{"/etc/airgap/pki/registry.key", []Kind{Key}, 0o640, "airgap", "the registry runs as airgap"},
		{"/etc/kubernetes/pki/**.key", []Kind{Key}, own, "", "kubeadm's"},
		{"/etc/kubernetes/*.conf", []Kind{Key, Code}, own, "", "kubeconfigs; the bootstrap one has the code while kubeadm joins"},
		{"/etc/kubernetes/apiserver/encryption.yaml", []Kind{EncryptionKey}, own, "", "the API server decrypts Secrets with it"},
		{"/var/lib/airgap/kept/etcd*/encryption.yaml", []Kind{EncryptionKey}, own, "", "beside the data that reset kept"},
		{"/var/lib/airgap/backup/**", []Kind{Key, Code, EncryptionKey}, own, "", "a backup, which is worth the cluster"},
		{"/var/lib/airgap/backup-key/airgap.key", []Kind{Key}, own, "", "signs this host's backups"},
		{"/var/lib/airgap/airgap-restore-*/**", []Kind{Key, Code, EncryptionKey}, own, "", "a backup while it is restored"},
		{"/var/lib/airgap/upgrade/**", []Kind{Key, Code, EncryptionKey}, own, "", "a control plane as it was before its upgrade"},
		{"/var/lib/kubelet/pki/*", []Kind{Key}, own, "", "the kubelet's certificates with their keys"},
		{"/var/lib/kubelet/pods/*/volumes/kubernetes.io~*/**", []Kind{Token, Object}, 0o644, "", "what pods are given; " + kubelt},
		{"/root/.ssh/*", []Kind{Key}, own, "", "a person's own"},
		{"/root/code", []Kind{Code, Seal}, own, "", "a person's own, for --code-file"},
		{"/etc/ssh/ssh_host_*_key", []Kind{Key}, 0o640, "ssh_keys", "the system's own"},
	}
}

func (r Rule) matches(path string) bool {
	pattern := regexp.QuoteMeta(r.Path)
	pattern = strings.ReplaceAll(pattern, `\*\*`, `.+`)
	pattern = strings.ReplaceAll(pattern, `\*`, `[^/]+`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(path)
}

// Judge says what is wrong with a secret in a file, or "". groups are the
// server's names of groups.
func Judge(rules []Rule, f File, secret Secret, groups map[uint32]string) string {
	found := false
	for _, r := range rules {
		if !slices.Contains(r.Kinds, secret.Kind) || !r.matches(f.Path) {
			continue
		}
		found = true
		if wide := f.tooWide(r, groups); wide != "" {
			return wide
		}
	}
	if !found {
		return "it has no business there"
	}
	return ""
}

func (f File) tooWide(r Rule, groups map[uint32]string) string {
	mode := f.Mode.Perm()
	group := groups[f.GID]
	switch {
	case mode&^r.Mode != 0:
		return fmt.Sprintf("mode %04o, want at most %04o", mode, r.Mode)
	case mode&0o077 != 0 && r.Group != "" && group != r.Group && group != "root":
		return fmt.Sprintf("mode %04o for group %s, want %s", mode, group, r.Group)
	case f.UID != 0 && mode&0o600 != 0 && r.Mode == 0o600:
		return fmt.Sprintf("belongs to user %d, want root", f.UID)
	}
	return ""
}

// Loose says what is wrong with the mode of one of airgap's own files, or "".
func Loose(f File) string {
	for _, dir := range []string{"/etc/airgap", "/var/lib/airgap", "/var/log/airgap", "/run/airgap"} {
		if (f.Path == dir || strings.HasPrefix(f.Path, dir+"/")) && f.Mode.Perm()&0o022 != 0 {
			return fmt.Sprintf("mode %04o lets others write", f.Mode.Perm())
		}
	}
	return ""
}
