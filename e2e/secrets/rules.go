package secrets

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Rule allows secrets of some kinds at a place.
type Rule struct {
	Path  string // on a server; * matches within a name, ** across names
	Kinds []Kind
	Mode  fs.FileMode // the most permissions that are allowed
	Group string      // that may read it, "" for root only
	Why   string
}

// Rules returns all places on a server where secrets may be. A secret at another place, or
// in a file with a wider mode, is a finding.
func Rules() []Rule {
	const (
		own     = 0o600
		kubelet = "only root can open the kubelet's directory"
	)
	return []Rule{
		{"/etc/airgap/pki/ca.key", []Kind{Key}, own, "", "signs the registry's certificates"},
		{"/etc/airgap/pki/registry.key", []Kind{Key}, 0o640, "airgap", "the registry runs as airgap"},
		{"/etc/kubernetes/pki/**.key", []Kind{Key}, own, "", "kubeadm's"},
		{"/etc/kubernetes/*.conf", []Kind{Key, Code}, own, "", "kubeconfigs; that of the bootstrap has the code while kubeadm joins"},
		{"/etc/kubernetes/apiserver/encryption.yaml", []Kind{EncryptionKey}, own, "", "the API server decrypts Secrets with it"},
		{"/var/lib/airgap/kept/etcd*/encryption.yaml", []Kind{EncryptionKey}, own, "", "next to the data that reset kept"},
		{"/var/lib/airgap/backup/**", []Kind{Key, Code, EncryptionKey}, own, "", "a backup of the whole cluster"},
		{"/var/lib/airgap/backup-key/airgap.key", []Kind{Key}, own, "", "signs this host's backups"},
		{"/var/lib/airgap/airgap-restore-*/**", []Kind{Key, Code, EncryptionKey}, own, "", "a backup during its restore"},
		{"/var/lib/airgap/upgrade/**", []Kind{Key, Code, EncryptionKey}, own, "", "the state of a control plane before its upgrade"},
		{"/var/lib/kubelet/pki/*", []Kind{Key}, own, "", "the kubelet's certificates with their keys"},
		{"/var/lib/kubelet/pods/*/volumes/kubernetes.io~*/**", []Kind{Token, Object}, 0o644, "", "the volumes of pods; " + kubelet},
		{"/root/.ssh/*", []Kind{Key}, own, "", "a person's own"},
		{"/root/code", []Kind{Code, Seal}, own, "", "a person's own, for --token-file"},
		{"/etc/ssh/ssh_host_*_key", []Kind{Key}, 0o640, "ssh_keys", "the system's own"},
	}
}

func (r Rule) matches(path string) bool {
	pattern := regexp.QuoteMeta(r.Path)
	pattern = strings.ReplaceAll(pattern, `\*\*`, `.+`)
	pattern = strings.ReplaceAll(pattern, `\*`, `[^/]+`)
	return regexp.MustCompile("^" + pattern + "$").MatchString(path)
}

// Judge returns the reason why a file must not contain a secret, or "". groups maps the
// group IDs of the server to names.
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
		return "no rule allows it there"
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

// WritableByOthers returns the problem with the mode of one of airgap's own files, or "".
func WritableByOthers(f File) string {
	for _, dir := range []string{"/etc/airgap", "/var/lib/airgap", "/var/log/airgap", "/run/airgap"} {
		if (f.Path == dir || strings.HasPrefix(f.Path, dir+"/")) && f.Mode.Perm()&0o022 != 0 {
			return fmt.Sprintf("mode %04o lets others write", f.Mode.Perm())
		}
	}
	return ""
}
