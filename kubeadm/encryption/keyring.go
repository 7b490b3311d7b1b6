package encryption

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Values of Config.EncryptionAtRest.
const (
	// Secretbox is XSalsa20 with Poly1305: authenticated, and a random nonce
	// so long that its key wears out with no number of writes.
	Secretbox = "secretbox"
	// AESCBC is for sites that allow FIPS-approved algorithms only. It is not
	// authenticated: a writer to etcd can tamper with encrypted data.
	AESCBC       = "aescbc"
	NoEncryption = "none"
)

const keyBytes = 32 // both algorithms take this much

// key is one of a keyring. Its name stands before every value that it
// encrypted: k8s:enc:PROVIDER:v1:NAME:.
type key struct {
	provider, name string
	secret         string // base64, as the file has it
}

// keyring is an EncryptionConfiguration: the first key encrypts, every key
// decrypts. There is no entry for plain text, so that a Secret written
// directly into etcd is not accepted.
type keyring []key

// The file's form, apiserver.config.k8s.io/v1.
type encryptionConfiguration struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Resources  []encryptedResource `json:"resources"`
}

type encryptedResource struct {
	Resources []string             `json:"resources"`
	Providers []encryptionProvider `json:"providers"`
}

type encryptionProvider struct {
	Secretbox *keyList `json:"secretbox,omitempty"`
	AESCBC    *keyList `json:"aescbc,omitempty"`
}

type keyList struct {
	Keys []namedKey `json:"keys"`
}

type namedKey struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// newKey makes a key with the number after the keyring's highest.
func (r keyring) newKey(provider string) key {
	last := 0
	for _, k := range r {
		last = max(last, k.number())
	}
	secret := make([]byte, keyBytes)
	rand.Read(secret) // never fails: it ends the program instead
	return key{provider, "key" + strconv.Itoa(last+1), base64.StdEncoding.EncodeToString(secret)}
}

func (k key) number() int {
	n, err := strconv.Atoi(strings.TrimPrefix(k.name, "key"))
	if err != nil {
		return 0 // a key with another name
	}
	return n
}

// prefix is the prefix in etcd of every value that the key encrypted.
func (k key) prefix() string { return "k8s:enc:" + k.provider + ":v1:" + k.name + ":" }

// file is the keyring as the API server reads it. Neighbours of one provider
// share its entry: two entries would count each reading as an error of the first.
func (r keyring) file() ([]byte, error) {
	var providers []encryptionProvider
	before := ""
	for _, k := range r {
		if k.provider != before {
			providers = append(providers, encryptionProvider{})
			before = k.provider
		}
		last := &providers[len(providers)-1]
		list := last.of(k.provider)
		list.Keys = append(list.Keys, namedKey{k.name, k.secret})
	}
	text, err := yaml.Marshal(encryptionConfiguration{
		APIVersion: "apiserver.config.k8s.io/v1", Kind: "EncryptionConfiguration",
		Resources: []encryptedResource{{Resources: []string{"secrets"}, Providers: providers}},
	})
	return append([]byte("# Written by airgap: airgap encryption rotate changes the key.\n"), text...), err
}

// of is the provider's list of keys, made where it is missing.
func (p *encryptionProvider) of(provider string) *keyList {
	list := &p.Secretbox
	if provider == AESCBC {
		list = &p.AESCBC
	}
	if *list == nil {
		*list = &keyList{}
	}
	return *list
}

// Check reports an error where a text is no file of keys that airgap has written.
func Check(text []byte) error {
	_, err := parseKeyring(text)
	return err
}

// parseKeyring reads a file of airgap. Its errors never repeat the content of
// the file.
func parseKeyring(text []byte) (keyring, error) {
	var config encryptionConfiguration
	if yaml.UnmarshalStrict(text, &config) != nil || len(config.Resources) != 1 || !slices.Equal(config.Resources[0].Resources, []string{"secrets"}) {
		return nil, errors.New("it is no EncryptionConfiguration that airgap wrote")
	}
	var ring keyring
	for _, p := range config.Resources[0].Providers {
		ring = append(ring, p.Secretbox.keys(Secretbox)...)
		ring = append(ring, p.AESCBC.keys(AESCBC)...)
	}
	if len(ring) == 0 {
		return nil, errors.New("it holds no key")
	}
	return ring, nil
}

func (l *keyList) keys(provider string) keyring {
	var ring keyring
	if l == nil {
		return ring
	}
	for _, k := range l.Keys {
		ring = append(ring, key{provider, k.Name, k.Secret})
	}
	return ring
}
