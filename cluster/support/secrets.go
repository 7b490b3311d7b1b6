package support

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"airgap.dev/airgap/internal/redact"
)

// Secret is one kind of them, as the security desk reads of it: docs/security.md, "Secrets".
type Secret struct {
	What  string // it is
	Where string // it lies
	Mode  string
	Way   string // on which it gets there
	End   string
	// places are files and directories of this host in which it is looked for, as fs.FS
	// names them; none: it lies in one of another's, on no server, or in pods' volumes.
	Places []string
}

// SecretKinds are all that airgap, the cluster and its servers have.
func SecretKinds() []Secret {
	return []Secret{
		{"the builder's two signing keys", "connected host, `~/.config/airgap/keys`", "0600, else refused", "never leave it", "theirs to keep", nil},
		{"a site's own signing key", "where the site has it", "0600, else refused", "`--sign-key FILE`, or a pipe; never copied", "theirs to keep", nil},
		{"credentials of registries, repositories and mirrors", "the connected host's Docker configuration; files and variables that `login` names; HTTPS_PROXY", "theirs", "by reference; a value in airgap.yaml is an error. A mirror's is shown to the mirror of its rule alone", "not ours", nil},
		{"the registry's authority, its key", "/etc/airgap/pki/ca.key, control-plane hosts", "0600", "made there; to further hosts in the parcel", "reset", []string{"etc/airgap"}},
		{"the registry's own key", "/etc/airgap/pki/registry.key", "0640 root:airgap", "made on each host", "reset, 2 years", nil},
		{"passwords of those who push", "/etc/airgap/registry.htpasswd, bcrypt", "0640 root:airgap", "prompt or stdin of `registry passwd`", "`--remove`; reset", nil},
		{"tokens of those who push", "the registry's memory, hashed", "-", "the answer to their password", "5 minutes", nil},
		{"the cluster's keys", "/etc/kubernetes/pki, *.conf", "0600", "kubeadm; to further hosts in the parcel", "reset", []string{"etc/kubernetes"}},
		{"the same, before a renewal; an authority's successor", "/var/lib/airgap/renewal.json; /etc/kubernetes/pki/next", "0600", "`airgap certs renew`, `rotate-ca`", "with the command's end; reset", []string{"var/lib/airgap/renewal.json"}},
		{"the kubelet's keys, as a client and as a server", "/var/lib/kubelet/pki, each host", "0600", "made there; the cluster signs the client's", "the client's: the kubelet renews it; the server's: `airgap certs renew`; reset", []string{"var/lib/kubelet/pki"}},
		{"the key of Secrets in etcd", "/etc/kubernetes/apiserver/encryption.yaml", "0600 in 0700", "made on the first host; parcel, rotation", "rotation; reset, which keeps it beside kept data", nil},
		{"the same, beside all of etcd's data, after a reset", "/var/lib/airgap/kept/etcd-*/encryption.yaml, control-plane hosts", "0600 in 0700", "kept by `airgap reset`", "`reset --wipe-data`", []string{"var/lib/airgap/kept"}},
		{"a backup: all keys of the cluster", "/var/lib/airgap/backup, control-plane hosts", "0600 in 0700", "`airgap backup`, each day and by hand", "the newest seven stay; `reset --wipe-data`; copies are theirs to keep", []string{"var/lib/airgap/backup"}},
		{"the key that backups are signed with: who has it makes backups that a restore takes", "/var/lib/airgap/backup-key/airgap.key, control-plane hosts", "0600 in 0700", "made on each host; in no backup", "reset", []string{"var/lib/airgap/backup-key"}},
		{"the identities of `backup.encryptTo`, which decrypt backups", "on no server: where the site keeps them", "0600, else refused", "`airgap restore --identity FILE`, prompt or stdin; never copied", "theirs to keep", nil},
		{"a backup while a restore is at work, decrypted", "/var/lib/airgap/airgap-restore-*", "0600 in 0700", "`airgap restore`", "with the command; the next one, or reset, after a kill", nil},
		{"the same, as it was before an upgrade", "/var/lib/airgap/upgrade, control-plane hosts", "0600 in 0700", "`airgap upgrade`", "the next upgrade; `reset --wipe-data`", []string{"var/lib/airgap/upgrade"}},
		{"a one-time code", "a bootstrap token, encrypted in etcd", "-", "stdout of who asks for it; prompt, stdin or --code-file", "one host has joined, or 2 hours", nil},
		{"a code's last part, of a control-plane host", "nowhere", "-", "as the code; the cluster never has it", "with the code", nil},
		{"a node's key while its host joins", "/var/lib/airgap/join.conf, and kubeadm's bootstrap-kubelet.conf", "0600", "made there; the cluster signs its certificate, for a code", "with the join; reset", []string{"var/lib/airgap/join.conf"}},
		{"the key of what decides about codes", "/run/airgap-join-approver, control-plane hosts", "0600 in 0700, airgap-approver", "made there by root each time that the unit starts, signed by the cluster's CA", "with the unit; 1 day", []string{"run/airgap-join-approver"}},
		{"SSH and sudo passwords", "the memory of `airgap install`", "-", "prompt; sudo's stdin", "with the process", nil},
		{"the key that DKMS signs kernel modules with (`gpu.source: dkms`): where it is enrolled for Secure Boot, who has it signs any module for that server", "/var/lib/dkms/mok.key, servers with cards", "as DKMS makes it", "made there by DKMS; the site enrols the public half, mok.pub", "not ours: `mokutil --delete`, then the file", []string{"var/lib/dkms"}},
		{"SSH keys of the server and of root, logins of root's container tools", "/etc/ssh, /root/.ssh, /root/.docker", "theirs", "the site's own; airgap reads them only to leave them out of a support bundle", "not ours", []string{"etc/ssh", "root/.ssh", "root/.docker"}},
	}
}

// SecretPlaces are where this host has secrets: files and directories.
func SecretPlaces() []string {
	var all []string
	for _, s := range SecretKinds() {
		all = append(all, s.Places...)
	}
	return all
}

// podSecrets are what the kubelet gives to pods.
func podSecrets() []string {
	return []string{"var/lib/kubelet/pods/*/volumes/kubernetes.io~projected/*/token", "var/lib/kubelet/pods/*/volumes/kubernetes.io~secret/*/*"}
}

// largestSecret, in bytes, is of a file that keys are kept in; etcd's snapshots are
// larger.
const largestSecret = 256 << 10

// Secrets are all that this host has, and how many files could not be read.
func (e *Evidence) Secrets() (book *redact.Book, unread int) {
	book = &redact.Book{}
	take := func(name string, ofPod bool) {
		text, err := e.secretFile(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			unread++
		default:
			book.AddFile(text)
			if value := bytes.TrimSpace(text); ofPod && len(value) < 512 && len(bytes.Fields(value)) == 1 {
				book.Add(value)
			}
		}
	}
	for _, place := range SecretPlaces() {
		_ = fs.WalkDir(e.fs(), place, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrPermission):
				unread++
			case err == nil && d.Type().IsRegular() && !public(name):
				take(name, false)
			case err == nil && d.Type()&fs.ModeSymlink != 0 && strings.HasPrefix(name, "var/lib/kubelet/"):
				take(name, false) // to the kubelet's newest
			}
			return nil
		})
	}
	for _, pattern := range podSecrets() {
		for _, name := range e.found(pattern) {
			take(name, true)
		}
	}
	return book, unread
}

// public are files among secrets that have none, and whose bytes are looked for nowhere.
func public(name string) bool {
	switch path.Ext(name) {
	case ".crt", ".pub", ".db":
		return true
	}
	return strings.Contains(name, "/manifests/")
}

func (e *Evidence) secretFile(name string) ([]byte, error) {
	f, err := e.fs().Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > largestSecret {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, largestSecret))
}
