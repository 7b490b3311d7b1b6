// Package rpm is everything airgap knows about RPMs: which ones a server
// needs, the dnf repository that carries them across the gap, and the dnf
// transaction that installs exactly those.
//
// On the connected side Plan reads upstream repositories, verifies what they
// say against the configured keys, and closes over the requirements; the
// Closure then writes a filtered repository, signed with our own Key. On the
// server a Transaction asks the real dnf what it would do, refuses anything
// but the lock, and runs it.
//
// The package never replaces, downgrades or removes an installed package, and
// never hands out a package whose vendor's signature was not verified.
package rpm

import (
	"context"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/internal/nevra"
)

// Config is the section packages of airgap.yaml.
type Config struct {
	OS           string       `yaml:"os" json:"os,omitempty" jsonschema:"enum=el8,enum=el9,enum=el10,default=el9" jsonschema_description:"Operating system of the servers: the major version of RHEL or a rebuild."`
	Repositories []Repository `yaml:"repositories" json:"repositories,omitempty" jsonschema_description:"dnf repositories for packages."`
	Modules      []string     `yaml:"modules" json:"modules,omitempty" jsonschema_description:"Module streams to use in addition to the default streams: NAME:STREAM."`
	Install      []string     `yaml:"install" json:"install,omitempty" jsonschema_description:"Packages to install in addition to those that Kubernetes needs: NAME, NAME-VERSION or NAME-VERSION-RELEASE. NAME can be a capability that packages provide."`
}

// Repository is one upstream dnf repository.
type Repository struct {
	Name    string `yaml:"name" json:"name" jsonschema:"required,pattern=^[a-z0-9][a-z0-9._-]*$" jsonschema_description:"Short name for reports."`
	BaseURL string `yaml:"baseURL" json:"baseURL,omitempty" jsonschema_description:"URL of the directory that contains repodata/. Set this, mirrorList or metalink."`
	// MirrorList and Metalink lead to such directories.
	MirrorList string   `yaml:"mirrorList" json:"mirrorList,omitempty" jsonschema_description:"URL of a list of such directories, one per line. airgap uses the first that responds."`
	Metalink   string   `yaml:"metalink" json:"metalink,omitempty" jsonschema_description:"URL of a metalink file for repomd.xml, with mirrors and the permitted checksums."`
	GPGKeys    []string `yaml:"gpgKeys" json:"gpgKeys" jsonschema:"required" jsonschema_description:"Public keys of the vendor: URLs, or file paths relative to airgap.yaml."`
	Signed     string   `yaml:"signedMetadata" json:"signedMetadata,omitempty" jsonschema:"enum=required,enum=optional" jsonschema_description:"Signature of repomd.xml by one of gpgKeys: required or optional. Default: required after airgap.lock has recorded a signature."`
	Login      Login    `yaml:"login" json:"login,omitzero" jsonschema_description:"User name and password, or client certificate, for the repository. airgap sends them only to the repository, or to its mirror in sources.rewrite."`
}

// Login is how a server knows its subscribers. Passwords are only referred to:
// the file travels in the bundle. Paths begin at airgap.yaml's directory.
type Login struct {
	ClientCert   string `yaml:"clientCert" json:"clientCert,omitempty" jsonschema_description:"PEM file with a client certificate. Red Hat subscriptions have it in /etc/pki/entitlement."`
	ClientKey    string `yaml:"clientKey" json:"clientKey,omitempty" jsonschema_description:"PEM file with the key of the certificate, if it is in another file."`
	Username     string `yaml:"username" json:"username,omitempty" jsonschema_description:"User name for HTTP basic authentication."`
	PasswordFile string `yaml:"passwordFile" json:"passwordFile,omitempty" jsonschema_description:"File with the password of this user."`
	PasswordEnv  string `yaml:"passwordEnv" json:"passwordEnv,omitempty" jsonschema_description:"Environment variable with the password of this user."`
}

// Files are the fields that name files.
func (l *Login) Files() []*string { return []*string{&l.ClientCert, &l.ClientKey, &l.PasswordFile} }

// Validate reports what does not go together.
func (l Login) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if l.ClientKey != "" && l.ClientCert == "" {
		all = append(all, field.Required(at.Child("clientCert"), "the certificate that clientKey belongs to"))
	}
	if (l.PasswordFile != "" || l.PasswordEnv != "") && l.Username == "" {
		all = append(all, field.Required(at.Child("username"), "whose password it is"))
	}
	if l.PasswordFile != "" && l.PasswordEnv != "" {
		all = append(all, field.Forbidden(at.Child("passwordEnv"), "passwordFile says already where the password is"))
	}
	return all
}

// validateFor judges it for the repository below baseURL.
func (l Login) validateFor(baseURL string, at *field.Path) field.ErrorList {
	var all field.ErrorList
	switch {
	case l == Login{}:
	case baseURL == "":
		all = append(all, field.Forbidden(at, "only with baseURL: mirrors that a list names are strangers"))
	case !strings.HasPrefix(baseURL, "https://"):
		all = append(all, field.Forbidden(at, "only with https: everybody on the way would read it"))
	}
	return append(all, l.Validate(at)...)
}

// Fetcher opens an upstream URL for reading from a byte offset. The size is
// that of the whole file in bytes, -1 when the server does not say. Where the
// server says that there is no such file, the error is fs.ErrNotExist to
// errors.Is.
type Fetcher interface {
	Open(ctx context.Context, url string, offset int64) (body io.ReadCloser, size int64, err error)
}

// Request is what Plan has to find packages for.
type Request struct {
	OS           string // of enterprise.Names
	Arch         string // x86_64, aarch64
	Repositories []Repository
	Modules      []string // NAME:STREAM
	Install      []string
	// Only is what single servers get beside Install, by host.
	Only map[string]Extra
	// Plain are modules whose streams count for nothing: which of their packages
	// are taken is said by version.
	Plain []string
	// Hosts is what each surveyed server has; none plans against the profile of
	// a minimal installation of OS.
	Hosts []Installed
	// Assumed are servers that nobody surveyed, though others were: for them the profile
	// counts, beside what the others have.
	Assumed []string
	// Locked are packages that an earlier plan chose: they are chosen again
	// where they still fit.
	Locked []Locked
	// Seen are the repositories as an earlier plan found them.
	Seen []Seen
}

// Locked is a package in the bytes that an earlier plan found.
type Locked struct {
	nevra.NEVRA
	SHA256 string
}

// Default fills in what was left out.
func (c *Config) Default() {
	if c.OS == "" {
		c.OS = enterprise.Usual
	}
}

// Validate reports every problem of the section at once.
func (c Config) Validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if oses := enterprise.Names(); !slices.Contains(oses, c.OS) {
		all = append(all, field.NotSupported(at.Child("os"), c.OS, oses))
	}
	seen := map[string]bool{}
	for i, r := range c.Repositories {
		item := at.Child("repositories").Index(i)
		if seen[r.Name] {
			all = append(all, field.Duplicate(item.Child("name"), r.Name))
		}
		seen[r.Name] = true
		all = append(all, r.validate(item)...)
	}
	for i, name := range c.Modules {
		if !moduleStream.MatchString(name) {
			all = append(all, field.Invalid(at.Child("modules").Index(i), name, "expected NAME:STREAM"))
		}
	}
	for i, spec := range c.Install {
		if !installSpec.MatchString(spec) {
			all = append(all, field.Invalid(at.Child("install").Index(i), spec, "expected NAME, NAME-VERSION or NAME-VERSION-RELEASE"))
		}
	}
	if len(c.Install) > 0 && len(c.Repositories) == 0 {
		all = append(all, field.Required(at.Child("repositories"), "packages are to be installed, but no repository is named"))
	}
	return all
}

func (r Repository) validate(at *field.Path) field.ErrorList {
	var all field.ErrorList
	if !repositoryName.MatchString(r.Name) {
		all = append(all, field.Invalid(at.Child("name"), r.Name, "expected lower-case letters, digits, dots, dashes"))
	}
	named := 0
	for _, where := range []struct{ child, value string }{{"baseURL", r.BaseURL}, {"mirrorList", r.MirrorList}, {"metalink", r.Metalink}} {
		if where.value == "" {
			continue
		}
		if named++; !isURL(where.value) {
			all = append(all, field.Invalid(at.Child(where.child), where.value, "expected https://HOST/PATH"))
		}
	}
	if named != 1 {
		all = append(all, field.Required(at.Child("baseURL"), "one of baseURL, mirrorList and metalink says where the repository is"))
	}
	if signed := []string{SignedRequired, SignedOptional}; r.Signed != "" && !slices.Contains(signed, r.Signed) {
		all = append(all, field.NotSupported(at.Child("signedMetadata"), r.Signed, signed))
	}
	all = append(all, r.Login.validateFor(r.BaseURL, at.Child("login"))...)
	if len(r.GPGKeys) == 0 {
		all = append(all, field.Required(at.Child("gpgKeys"), "packages are never taken unverified: name the vendor's public key"))
	}
	for i, key := range r.GPGKeys {
		if strings.Contains(key, "://") && !isURL(key) && !strings.HasPrefix(key, "file:///") || key == "" {
			all = append(all, field.Invalid(at.Child("gpgKeys").Index(i), key, "expected https://HOST/PATH or the path of a file"))
		}
	}
	return all
}

// name, version, release and file names hold only what rpm itself allows, so
// that a name is safe in a path, on a command line and in XML.
var (
	repositoryName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)
	installSpec    = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+~^:-]*$`)
	moduleStream   = regexp.MustCompile(`^[A-Za-z0-9._+-]+:[A-Za-z0-9._+-]+$`)
)

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}

// keyFile is the path that a key's name stands for, when it is not fetched.
func keyFile(name string) (string, bool) {
	if path, ok := strings.CutPrefix(name, "file://"); ok {
		return path, true
	}
	return filepath.Clean(name), !strings.Contains(name, "://")
}
