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

// What a machine learns about itself when it boots comes as systemd
// credentials, one file each in its directory, through QEMU's firmware
// interface.
const (
	hostsCredential = "network.hosts"            // systemd-tmpfiles makes /etc/hosts of it
	keysCredential  = "ssh.authorized_keys.root" // and root's authorized_keys
	eth0Credential  = "lab.eth0"                 // lab-network.service reads it
)

func (e *Emulated) firmware() []string {
	var argv []string
	for _, name := range []string{hostsCredential, keysCredential, eth0Credential} {
		argv = append(argv, "-fw_cfg", "name=opt/io.systemd.credentials/"+name+",file="+e.path(name))
	}
	return argv
}

// keyFile is the private key that opens the machine to the lab.
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

// MakeKey writes a fresh private key to a file.
func MakeKey(file string) (ssh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an SSH key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "lab")
	if err != nil {
		return nil, fmt.Errorf("make an SSH key: %w", err)
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

// sshConfig lets root in with the lab's key, at the host whose key is in the
// image and at no other.
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
