package remote

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/internal/host"
)

// A user certificate is offered before its key: sshd accepts it if it trusts the authority (TrustedUserCAKeys).

// userCerts are certificates from files.
type userCerts []userCert

type userCert struct {
	*ssh.Certificate

	file string
}

// maxCert, in bytes, is far more than a certificate has.
const maxCert = 64 << 10

// certificates reads the certificates beside these key files, and those of the host's configuration. A certificate that
// cannot be used is named in the error of the login.
func (k *Keys) certificates(a *attempt, keys []string) (all userCerts) {
	add := func(file string, needed bool) {
		cert, err := readCert(file)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !needed:
		case err != nil:
			a.offering = append(a.offering, fmt.Sprintf("the certificate %s (%v)", file, err))
		case a.valid(cert, file):
			all = append(all, userCert{cert, file})
		}
	}
	for _, key := range keys {
		add(key+"-cert.pub", false)
	}
	for _, file := range a.host.Certificates {
		add(file, true)
	}
	return all
}

// readCert reads a certificate with the rights of the file's owner.
func readCert(file string) (cert *ssh.Certificate, err error) {
	err = host.AsOwner(file, func() error {
		f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0) // no wait for the writer of a pipe
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxCert))
		if err != nil {
			return err
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey(text)
		if err != nil {
			return errors.New("it is no certificate")
		}
		cert, _ = key.(*ssh.Certificate)
		if cert == nil {
			return errors.New("it is a key without a certificate")
		}
		return nil
	})
	return cert, err
}

// of returns the certificates of a key, signed with by.
func (certs userCerts) of(key ssh.PublicKey, by ssh.Signer, unsigned func()) (all []*offered) {
	for _, c := range certs {
		if same(c.Key, key) {
			all = append(all, &offered{Signer: by, public: c.Certificate, name: nameOf(c.Certificate, c.file), unsigned: unsigned})
		}
	}
	return all
}

// certificateOf returns a key as a certificate; nil if it is none. An agent returns the bytes of a key.
func certificateOf(key ssh.PublicKey) *ssh.Certificate {
	if cert, is := key.(*ssh.Certificate); is {
		return cert
	}
	if !strings.Contains(key.Type(), "-cert-") {
		return nil
	}
	parsed, err := ssh.ParsePublicKey(key.Marshal())
	if err != nil {
		return nil
	}
	cert, _ := parsed.(*ssh.Certificate)
	return cert
}

// valid reports whether a key can be used now: it is no certificate, or one of a user that is valid. Else the error of
// the login names it.
func (a *attempt) valid(key ssh.PublicKey, name string) bool {
	cert := certificateOf(key)
	if cert == nil {
		return true
	}
	why := validity(cert, time.Now())
	if cert.CertType != ssh.UserCert {
		why = "it is for a host, not for a user"
	}
	if why != "" {
		a.offering = append(a.offering, fmt.Sprintf("%s (%s)", nameOf(cert, name), why))
	}
	return why == ""
}

// onlyFiles reports whether only the key files of the configuration are offered, and what the agent has for them.
func (a *attempt) onlyFiles() bool { return a.host.IdentityFile != "" || a.host.OnlyIdentities }

// nameOf is a key for people. where is its file, or its place in the agent.
func nameOf(key ssh.PublicKey, where string) string {
	cert := certificateOf(key)
	if cert == nil {
		return where
	}
	text := fmt.Sprintf("%s (certificate %q", where, cert.KeyId)
	if len(cert.ValidPrincipals) > 0 {
		text += " for " + strings.Join(cert.ValidPrincipals, ", ")
	}
	return text + ")"
}
