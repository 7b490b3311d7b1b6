package config

import (
	"net/url"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// secretKey matches the names under which people write credentials. A field
// that ends in File or Env holds a reference and is fine.
var secretKey = regexp.MustCompile(`(?i)(password|passwd|passphrase|secret|token|api_?key|private_?key|credentials?|htpasswd)$`)

const byReference = "credentials are not written into this file, which travels inside the bundle; name a file or an environment variable instead"

// credentials finds secrets written into the file: fields named like one, user
// information in URLs, PEM private keys. The values are not repeated.
func (d document) credentials() Problems {
	var found Problems
	walk(d.root, nil, func(key, value *yaml.Node, path []string) {
		switch {
		case value.Kind != yaml.ScalarNode:
		case key != nil && secretKey.MatchString(key.Value) && !namesSecret(key.Value) && value.Value != "":
			found = append(found, d.problem(key, join(path), "inline credential: %s", byReference))
		case hasUserinfo(value.Value):
			found = append(found, d.problem(value, join(path), "user and password inside a URL: %s", byReference))
		case strings.Contains(value.Value, "PRIVATE KEY-----"):
			found = append(found, d.problem(value, join(path), "inline private key: %s", byReference))
		}
	})
	return found
}

// namesSecret knows the fields by which charts are given a Secret of the
// cluster by its name: existingSecret.
func namesSecret(key string) bool { return strings.HasPrefix(strings.ToLower(key), "existing") }

// bareUserinfo matches USER:PASSWORD@HOST without a scheme. An image with a digest
// looks similar.
var bareUserinfo = regexp.MustCompile(`^[^/@\s]+:[^/@\s]+@`)

func hasUserinfo(s string) bool {
	if !strings.Contains(s, "://") {
		return bareUserinfo.MatchString(s) && !strings.Contains(s, "@sha256:") && !strings.Contains(s, "@sha512:")
	}
	u, err := url.Parse(s)
	if err != nil {
		// A password with odd characters does not parse; the shape tells.
		return strings.Contains(s, "@")
	}
	return u.User != nil
}
