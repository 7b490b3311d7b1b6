package backup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config is the section backup of airgap.yaml.
type Config struct {
	EncryptTo []string `yaml:"encryptTo" json:"encryptTo,omitempty" jsonschema:"description=Recipients of encrypted backups: age recipients (age1…) or SSH public keys (ssh-ed25519 …; ssh-rsa …). Keep the private keys away from the servers. Default: backups are signed and not encrypted"`
}

// Validate reports recipients that age cannot encrypt to.
func (c Config) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	for i, value := range c.EncryptTo {
		if _, err := ParseRecipients([]string{value}); err != nil {
			all = append(all, field.Invalid(at.Child("encryptTo").Index(i), shown(value), err.Error()))
		}
	}
	if len(all) == 0 && len(c.EncryptTo) > 0 {
		if _, err := ParseRecipients(c.EncryptTo); err != nil {
			all = append(all, field.Invalid(at.Child("encryptTo"), strings.Join(c.EncryptTo, ", "), err.Error()))
		}
	}
	return all
}

// shown keeps a private key that was mistaken for a recipient out of messages.
func shown(value string) string {
	if private(value) {
		return "(a private key)"
	}
	return value
}

func private(value string) bool {
	value = strings.ToUpper(value)
	return strings.Contains(value, "SECRET-KEY") || strings.Contains(value, "PRIVATE KEY")
}

// ParseRecipients reads age recipients and SSH public keys that one file can be encrypted to.
func ParseRecipients(values []string) ([]age.Recipient, error) {
	var all []age.Recipient
	for _, value := range values {
		r, err := parseRecipient(value)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, nil
	}
	if _, err := age.Encrypt(io.Discard, all...); err != nil { // kinds that age does not mix
		return nil, fmt.Errorf("encrypt to these recipients: %w", err)
	}
	return all, nil
}

func parseRecipient(value string) (age.Recipient, error) {
	value = strings.TrimSpace(value)
	if private(value) {
		return nil, errors.New("read recipient: it is a private key; want its public half: age-keygen -y FILE prints it")
	}
	if strings.ContainsAny(value, "\r\n") {
		return nil, errors.New("read recipient: want one line")
	}
	if strings.HasPrefix(value, "ssh-") {
		r, err := agessh.ParseRecipient(value)
		if err != nil {
			return nil, fmt.Errorf("read recipient %q: %w", value, err)
		}
		return r, nil
	}
	all, err := age.ParseRecipients(strings.NewReader(value))
	if err != nil || len(all) != 1 {
		return nil, fmt.Errorf("read recipient %q: want age1… or an SSH public key (ssh-ed25519 …, ssh-rsa …)", value)
	}
	return all[0], nil
}

// ParseIdentities reads the private halves of recipients: age identities, or one SSH private
// key. Errors do not repeat the input.
func ParseIdentities(text []byte) ([]age.Identity, error) {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("-----BEGIN ")) {
		id, err := agessh.ParseIdentity(text)
		if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); locked {
			return nil, errors.New("read identity: the SSH key has a passphrase; ssh-keygen -p on a copy removes it")
		}
		if err != nil {
			return nil, errors.New("read identity: want an SSH private key of type ed25519 or rsa")
		}
		return []age.Identity{id}, nil
	}
	all, err := age.ParseIdentities(bytes.NewReader(text))
	if err != nil {
		return nil, errors.New("read identity: want AGE-SECRET-KEY-1…, as age-keygen writes it, or an SSH private key; a file with a passphrase has to be decrypted first")
	}
	return all, nil
}
