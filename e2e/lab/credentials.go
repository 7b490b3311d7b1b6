package lab

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"
)

// A machine gets its configuration at boot as systemd credentials, through QEMU's
// firmware interface. Each credential is a file in the machine's directory.
const (
	hostsCredential = "network.hosts"            // systemd-tmpfiles makes /etc/hosts from it
	keysCredential  = "ssh.authorized_keys.root" // systemd-tmpfiles makes root's authorized_keys from it
	eth0Credential  = "lab.eth0"                 // lab-network.service reads it
)

func (e *Emulated) firmware() []string {
	var argv []string
	for _, name := range []string{hostsCredential, keysCredential, eth0Credential} {
		argv = append(argv, "-fw_cfg", "name=opt/io.systemd.credentials/"+name+",file="+e.path(name))
	}
	return argv
}

// keyFile is the private key with which the lab logs in to the machine.
const keyFile = "id_ed25519"

// provision writes the machine's credentials, and makes its key at the first
// start.
func (e *Emulated) provision(context.Context) error {
	key, err := e.key()
	if errors.Is(err, fs.ErrNotExist) {
		key, err = MakeKey(e.path(keyFile))
	}
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(e.path(hostsCredential), []byte(e.hosts), 0o644),
		os.WriteFile(e.path(keysCredential), ssh.MarshalAuthorizedKey(key.PublicKey()), 0o644),
		os.WriteFile(e.path(eth0Credential), []byte(strings.Join(eth0(e.addr), "\n")+"\n"), 0o644),
	)
}

// MakeKey writes a new Ed25519 private key to a file.
func MakeKey(file string) (ssh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("create an SSH key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "lab")
	if err != nil {
		return nil, fmt.Errorf("create an SSH key: %w", err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, err
	}
	return ssh.NewSignerFromKey(private)
}

func (e *Emulated) key() (ssh.Signer, error) {
	data, err := os.ReadFile(e.path(keyFile))
	if err != nil {
		return nil, err
	}
	return ssh.ParsePrivateKey(data)
}

// sshConfig logs in as root with the lab's key. It accepts only the host key that is in
// the image.
func (e *Emulated) sshConfig() (*ssh.ClientConfig, error) {
	key, err := e.key()
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(e.image.HostKey())
	if err != nil {
		return nil, err
	}
	host, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(e.image.HostKey()), err)
	}
	return &ssh.ClientConfig{
		User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyCallback: ssh.FixedHostKey(host), HostKeyAlgorithms: []string{host.Type()},
	}, nil
}
