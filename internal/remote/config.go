package remote

import (
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config is the section ssh: of airgap.yaml. With it `airgap install` installs the
// other hosts, too; without it, it prints the commands for them.
type Config struct {
	User         string   `yaml:"user" json:"user" jsonschema:"default=root,pattern=^[A-Za-z0-9_][A-Za-z0-9_.@$+-]*$,example=root,example=ops,description=Login user. Users other than root need sudo"`
	Port         int      `yaml:"port" json:"port" jsonschema:"default=22,minimum=1,maximum=65535,description=TCP port of sshd"`
	IdentityFile string   `yaml:"identityFile" json:"identityFile" jsonschema:"example=~/.ssh/id_ed25519,description=Private key on the first host. Default: the keys of the SSH agent and the user's keys"`
	KnownHosts   []string `yaml:"knownHosts" json:"knownHosts" jsonschema:"example=/etc/airgap/known_hosts,description=Files on the first host with known host keys in addition to ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts"`
	PasswordFile string   `yaml:"passwordFile" json:"passwordFile,omitempty" jsonschema:"example=/root/airgap-passwords" jsonschema_description:"File on the first host with the passwords of the other hosts, mode 0600. Each line is HOST login PASSWORD, or HOST sudo PASSWORD."`
	// PasswordCommand gets the host in its environment.
	PasswordCommand []string `yaml:"passwordCommand" json:"passwordCommand,omitempty" jsonschema:"example=/usr/local/sbin/host-password" jsonschema_description:"Program on the first host, with arguments, that prints the password of one host in one line, or nothing. The environment variables AIRGAP_HOST, AIRGAP_ADDRESS and AIRGAP_USER name the login, and AIRGAP_FOR is login or sudo."`
	Parallel        int      `yaml:"parallel" json:"parallel" jsonschema:"default=5,minimum=1,maximum=100,description=Maximum number of hosts that airgap works on in parallel"`
}

// Override is nodes[].ssh: the differences of one host.
type Override struct {
	Address      string `yaml:"address" json:"address" jsonschema:"description=Name or address of sshd. Default: the address of the node"`
	User         string `yaml:"user" json:"user" jsonschema:"pattern=^[A-Za-z0-9_][A-Za-z0-9_.@$+-]*$,example=root,example=ops,description=Login user on this host"`
	Port         int    `yaml:"port" json:"port" jsonschema:"minimum=1,maximum=65535,description=TCP port of sshd on this host"`
	IdentityFile string `yaml:"identityFile" json:"identityFile" jsonschema:"example=~/.ssh/id_ed25519,description=Private key for this host"`
	HostKey      string `yaml:"hostKey" json:"hostKey" jsonschema:"pattern=^SHA256:[A-Za-z0-9+/]{43}$,example=SHA256:uNiVztksCsDhcc0u9e8BrwCUQ7O4PA2wSl2mCgBPzRQ,description=Fingerprint of this host's key as ssh-keygen -l prints it. airgap then refuses any other key"`
}

// Default sets missing fields.
func (c *Config) Default() {
	if c.User == "" {
		c.User = "root"
	}
	if c.Port == 0 {
		c.Port = 22
	}
	if c.Parallel == 0 {
		c.Parallel = 5
	}
}

// Validate checks the rules that the schema cannot express.
func (c *Config) Validate(at *field.Path) field.ErrorList {
	all := validateFile(at.Child("identityFile"), c.IdentityFile)
	for i, f := range c.KnownHosts {
		all = append(all, validateFile(at.Child("knownHosts").Index(i), f)...)
	}
	all = append(all, validateFile(at.Child("passwordFile"), c.PasswordFile)...)
	if len(c.PasswordCommand) == 0 {
		return all
	}
	if c.PasswordFile != "" {
		all = append(all, field.Forbidden(at.Child("passwordCommand"), "set passwordFile or passwordCommand, not both"))
	}
	if program := c.PasswordCommand[0]; !path.IsAbs(program) {
		all = append(all, field.Invalid(at.Child("passwordCommand").Index(0), program, "want the absolute path of a program"))
	}
	return all
}

// Validate checks the rules that the schema cannot express.
func (o *Override) Validate(at *field.Path) field.ErrorList {
	return validateFile(at.Child("identityFile"), o.IdentityFile)
}

// validateFile requires a path that does not depend on the working directory.
func validateFile(at *field.Path, file string) field.ErrorList {
	if file == "" || path.IsAbs(file) || strings.HasPrefix(file, "~/") {
		return nil
	}
	return field.ErrorList{field.Invalid(at, file, "want an absolute path, or one that begins with ~/")}
}

// Host returns the node name at address, with the settings of the section and of the
// node's override.
func (c *Config) Host(name, address string, o *Override) Host {
	h := Host{Name: name, Address: address, Port: c.Port, User: c.User, IdentityFile: c.IdentityFile}
	if o == nil {
		return h
	}
	h.HostKey = o.HostKey
	for _, s := range []struct{ to, from *string }{{&h.Address, &o.Address}, {&h.User, &o.User}, {&h.IdentityFile, &o.IdentityFile}} {
		if *s.from != "" {
			*s.to = *s.from
		}
	}
	if o.Port != 0 {
		h.Port = o.Port
	}
	return h
}
