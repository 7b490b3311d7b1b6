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

// Secret is one kind of secret, a row of the table in docs/security.md, "Secrets".
type Secret struct {
	What  string // the secret
	Where string // its place
	Mode  string // its file mode
	Way   string // how it gets there
	End   string // when it is deleted or expires
	// Places are the files and directories of this host to search, named as in fs.FS. It is empty if the secret is in
	// a place of another kind, on no server, or in pods' volumes.
	Places []string
}

// SecretKinds returns all kinds of secrets of airgap, the cluster and its servers.
func SecretKinds() []Secret {
	return []Secret{
		{"the builder's two signing keys", "connected host, `~/.config/airgap/keys`", "0600, else refused", "never leave the host", "kept by the builder", nil},
		{"a site's own signing key", "chosen by the site", "0600, else refused", "`--sign-key FILE`, or a pipe; never copied", "kept by the site", nil},
		{"credentials of registries, repositories and mirrors", "the connected host's Docker configuration; files and variables in `login`; HTTPS_PROXY", "set by the site", "by reference; a value in airgap.yaml is an error. The credentials of a mirror are sent only to the mirror of their rule", "not managed by airgap", nil},
		{"the key of the registry's CA", "/etc/airgap/pki/ca.key, control-plane hosts", "0600", "created on the host; copied to further hosts with the control-plane secrets", "reset", []string{"etc/airgap"}},
		{"the registry's own key", "/etc/airgap/pki/registry.key", "0640 root:airgap", "created on each host", "reset, 2 years", nil},
		{"passwords of users with push access", "/etc/airgap/registry.htpasswd, bcrypt", "0640 root:airgap", "prompt or stdin of `registry passwd`", "`--remove`; reset", nil},
		{"tokens of users with push access", "the registry's memory, hashed", "-", "issued by the registry for the password", "5 minutes", nil},
		{"the cluster's keys", "/etc/kubernetes/pki, *.conf", "0600", "kubeadm; copied to further hosts with the control-plane secrets", "reset", []string{"etc/kubernetes"}},
		{"the cluster's keys before a renewal; the new CA of a rotation", "/var/lib/airgap/renewal.json; /etc/kubernetes/pki/next", "0600", "`airgap certs renew`, `rotate-ca`", "end of the command; reset", []string{"var/lib/airgap/renewal.json"}},
		{"the kubelet's client key and server key", "/var/lib/kubelet/pki, each host", "0600", "created on the host; the cluster signs the client certificate", "client: renewed by the kubelet; server: `airgap certs renew`; reset", []string{"var/lib/kubelet/pki"}},
		{"the encryption key of Secrets in etcd", "/etc/kubernetes/apiserver/encryption.yaml", "0600 in 0700", "created on the first host; copied with the control-plane secrets and by a rotation", "rotation; reset, which keeps it with etcd data that it keeps", nil},
		{"the encryption key and all etcd data after a reset", "/var/lib/airgap/kept/etcd-*/encryption.yaml, control-plane hosts", "0600 in 0700", "kept by `airgap reset`", "`reset --wipe-data`", []string{"var/lib/airgap/kept"}},
		{"a backup: all keys of the cluster", "/var/lib/airgap/backup, control-plane hosts", "0600 in 0700", "`airgap backup`, each day and by hand", "the newest seven are kept; `reset --wipe-data`; the site keeps copies", []string{"var/lib/airgap/backup"}},
		{"the key that signs backups: with it, an attacker can create a backup that a restore accepts", "/var/lib/airgap/backup-key/airgap.key, control-plane hosts", "0600 in 0700", "created on each host; not in backups", "reset", []string{"var/lib/airgap/backup-key"}},
		{"the identities of `backup.encryptTo`, which decrypt backups", "on no server; chosen by the site", "0600, else refused", "`airgap restore --identity FILE`, prompt or stdin; never copied", "kept by the site", nil},
		{"a decrypted backup during a restore", "/var/lib/airgap/airgap-restore-*", "0600 in 0700", "`airgap restore`", "end of the command; if it was killed, the next restore or reset", nil},
		{"a backup from before an upgrade", "/var/lib/airgap/upgrade, control-plane hosts", "0600 in 0700", "`airgap upgrade`", "the next upgrade; `reset --wipe-data`", []string{"var/lib/airgap/upgrade"}},
		{"a join token", "a bootstrap token, encrypted in etcd", "-", "stdout of the command that creates it; prompt, stdin or --token-file", "after the join of one host, or after 2 hours", nil},
		{"the last part of a control-plane host's join token", "stored nowhere", "-", "with the join token; the cluster never has it", "with the join token", nil},
		{"a node's key during the join", "/var/lib/airgap/join.conf, and kubeadm's bootstrap-kubelet.conf", "0600", "created on the host; the cluster signs its certificate for a join token", "end of the join; reset", []string{"var/lib/airgap/join.conf"}},
		{"the key of the unit that approves join tokens", "/run/airgap-join-approver, control-plane hosts", "0600 in 0700, airgap-approver", "created by root at each start of the unit, certificate signed by the cluster's CA", "stop of the unit; 1 day", []string{"run/airgap-join-approver"}},
		{"SSH and sudo passwords", "the memory of `airgap install`; with `ssh.passwordFile` a file of the site", "of the file: 0600, else refused", "prompt, `ssh.passwordFile`, `ssh.passwordCommand`; sudo's stdin", "end of the process; the site manages the file", nil},
		{"the key with which DKMS signs kernel modules (`gpu.source: dkms`): if it is enrolled for Secure Boot, its owner can sign any module for the server", "/var/lib/dkms/mok.key, GPU servers", "set by DKMS", "created by DKMS; the site enrols the public key, mok.pub", "not managed by airgap: `mokutil --delete`, then delete the file", []string{"var/lib/dkms"}},
		{"SSH keys of the server and of root, logins of root's container tools", "/etc/ssh, /root/.ssh, /root/.docker", "set by the site", "created by the site; airgap reads them only to keep them out of a support bundle", "not managed by airgap", []string{"etc/ssh", "root/.ssh", "root/.docker"}},
	}
}

// SecretPlaces returns the files and directories of this host with secrets.
func SecretPlaces() []string {
	var all []string
	for _, s := range SecretKinds() {
		all = append(all, s.Places...)
	}
	return all
}

// podSecrets returns patterns of the tokens and Secrets that the kubelet mounts into pods.
func podSecrets() []string {
	return []string{"var/lib/kubelet/pods/*/volumes/kubernetes.io~projected/*/token", "var/lib/kubelet/pods/*/volumes/kubernetes.io~secret/*/*"}
}

// largestSecret is the maximum size of a file with keys, in bytes. It excludes etcd snapshots, which are larger.
const largestSecret = 256 << 10

// Secrets returns the secrets of this host, and the number of files that could not be read.
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
				take(name, false) // a link to the kubelet's current key
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

// public reports whether a file in a directory of secrets contains none. Its content is not searched for.
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
