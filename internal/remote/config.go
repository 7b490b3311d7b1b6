package remote

import (
	"cmp"
	"path"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Config is the section ssh: of airgap.yaml. With it `airgap install` installs the
// other hosts, too; without it, it prints the commands for them.
type Config struct {
	User         string   `yaml:"user" json:"user" jsonschema:"default=root,pattern=^[A-Za-z0-9_][A-Za-z0-9_.@$+#%:{}-]*$,example=root,example=ops" jsonschema_description:"Login user. Users other than root need sudo. {name} and {address} stand for those of the node, for gateways such as PSM for SSH: vault@root@{address}."`
	Port         int      `yaml:"port" json:"port" jsonschema:"default=22,minimum=1,maximum=65535,description=TCP port of sshd"`
	IdentityFile string   `yaml:"identityFile" json:"identityFile" jsonschema:"example=~/.ssh/id_ed25519" jsonschema_description:"Private key on the first host. A certificate for it is read from the file with -cert.pub at the end of its name. Default: the keys of the SSH agent and the user's keys."`
	ProxyJump    []string `yaml:"proxyJump" json:"proxyJump,omitempty" jsonschema:"example=ops@bastion.bank:2222" jsonschema_description:"Jump hosts in front of the other hosts, the first one first: [USER@]HOST[:PORT]. Without USER, the user is ssh.user. none alone: no jump host, also if ~/.ssh/config has one."`
	KnownHosts   []string `yaml:"knownHosts" json:"knownHosts" jsonschema:"example=/etc/airgap/known_hosts" jsonschema_description:"Files on the first host with known host keys in addition to ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts. Lines with @cert-authority and @revoked count."`
	HostKeys     string   `yaml:"hostKeys" json:"hostKeys,omitempty" jsonschema:"example=/root/host-keys" jsonschema_description:"File on the first host with the host keys of the other hosts and of jump hosts. Each line is HOST SHA256:FINGERPRINT, or a line of ssh-keyscan. A host with a line must show one of its keys."`
	ConfigFile   string   `yaml:"configFile" json:"configFile,omitempty" jsonschema:"example=/etc/airgap/ssh_config,example=none" jsonschema_description:"Configuration of OpenSSH's client on the first host, or none. airgap.yaml comes before it. Default: ~/.ssh/config."`
	PasswordFile string   `yaml:"passwordFile" json:"passwordFile,omitempty" jsonschema:"example=/root/airgap-passwords" jsonschema_description:"File on the first host with the passwords of the other hosts, mode 0600. Each line is HOST login PASSWORD, or HOST sudo PASSWORD."`
	// PasswordCommand gets the host in its environment.
	PasswordCommand []string `yaml:"passwordCommand" json:"passwordCommand,omitempty" jsonschema:"example=/usr/local/sbin/host-password" jsonschema_description:"Program on the first host, with arguments, that prints the password of one host in one line, or nothing. The environment variables AIRGAP_HOST, AIRGAP_ADDRESS and AIRGAP_USER name the login, and AIRGAP_FOR is login or sudo."`
	Parallel        int      `yaml:"parallel" json:"parallel" jsonschema:"default=5,minimum=1,maximum=100,description=Maximum number of hosts that airgap works on in parallel"`
	SilentMinutes   int      `yaml:"silentMinutes" json:"silentMinutes,omitempty" jsonschema:"minimum=1,maximum=1440,example=180" jsonschema_description:"Minutes without any output after which airgap gives up its command on a host, such as a step that hangs. The host counts as failed. Default: 90, more than airgap waits for one image."`

	noUser, noPort, noParallel bool // the file has none
}

// Override is nodes[].ssh: the differences of one host.
type Override struct {
	Address      string   `yaml:"address" json:"address" jsonschema:"description=Name or address of sshd. Default: the address of the node"`
	User         string   `yaml:"user" json:"user" jsonschema:"pattern=^[A-Za-z0-9_][A-Za-z0-9_.@$+#%:{}-]*$,example=root,example=ops,description=Login user on this host"`
	Port         int      `yaml:"port" json:"port" jsonschema:"minimum=1,maximum=65535,description=TCP port of sshd on this host"`
	IdentityFile string   `yaml:"identityFile" json:"identityFile" jsonschema:"example=~/.ssh/id_ed25519,description=Private key for this host"`
	ProxyJump    []string `yaml:"proxyJump" json:"proxyJump,omitempty" jsonschema:"example=ops@bastion.bank:2222" jsonschema_description:"Jump hosts in front of this host, as in ssh.proxyJump. none alone: no jump host."`
	HostKey      string   `yaml:"hostKey" json:"hostKey" jsonschema:"pattern=^SHA256:[A-Za-z0-9+/]{43}$,example=SHA256:uNiVztksCsDhcc0u9e8BrwCUQ7O4PA2wSl2mCgBPzRQ,description=Fingerprint of this host's key as ssh-keygen -l prints it. airgap then refuses any other key"`
}

// Default sets missing fields.
func (c *Config) Default() {
	if c.User == "" {
		c.User, c.noUser = "root", true
	}
	if c.Port == 0 {
		c.Port, c.noPort = 22, true
	}
	if c.Parallel == 0 {
		c.Parallel, c.noParallel = 5, true
	}
}

// Silence is the time without any output after which a command on a host is given up.
func (c *Config) Silence() time.Duration {
	return time.Duration(cmp.Or(c.SilentMinutes, 90)) * time.Minute
}

// Written returns the section as the file has it, without defaults.
func (c *Config) Written() Config {
	w := *c
	if c.noUser {
		w.User = ""
	}
	if c.noPort {
		w.Port = 0
	}
	if c.noParallel {
		w.Parallel = 0
	}
	w.noUser, w.noPort, w.noParallel = false, false, false
	return w
}

// Over replaces the fields of the section that o sets, and returns their names.
func (c *Config) Over(o Config) (names []string) {
	text := func(name string, to *string, from string) {
		if from != "" {
			*to, names = from, append(names, name)
		}
	}
	number := func(name string, to *int, from int) {
		if from != 0 {
			*to, names = from, append(names, name)
		}
	}
	list := func(name string, to *[]string, from []string) {
		if len(from) > 0 {
			*to, names = from, append(names, name)
		}
	}
	if o.PasswordFile != "" || len(o.PasswordCommand) > 0 { // one of both
		c.PasswordFile, c.PasswordCommand = "", nil
	}
	text("user", &c.User, o.User)
	number("port", &c.Port, o.Port)
	text("identityFile", &c.IdentityFile, o.IdentityFile)
	list("proxyJump", &c.ProxyJump, o.ProxyJump)
	list("knownHosts", &c.KnownHosts, o.KnownHosts)
	text("hostKeys", &c.HostKeys, o.HostKeys)
	text("configFile", &c.ConfigFile, o.ConfigFile)
	text("passwordFile", &c.PasswordFile, o.PasswordFile)
	list("passwordCommand", &c.PasswordCommand, o.PasswordCommand)
	number("parallel", &c.Parallel, o.Parallel)
	number("silentMinutes", &c.SilentMinutes, o.SilentMinutes)
	return names
}

// Over returns the settings with the fields that o sets.
func (o Override) Over(base *Override) *Override {
	if base != nil {
		o.Address, o.User, o.Port = cmp.Or(o.Address, base.Address), cmp.Or(o.User, base.User), cmp.Or(o.Port, base.Port)
		o.IdentityFile, o.HostKey = cmp.Or(o.IdentityFile, base.IdentityFile), cmp.Or(o.HostKey, base.HostKey)
		if len(o.ProxyJump) == 0 {
			o.ProxyJump = base.ProxyJump
		}
	}
	return &o
}

// Validate checks the rules that the schema cannot express.
func (c *Config) Validate(at *field.Path) field.ErrorList {
	all := append(validateFile(at.Child("identityFile"), c.IdentityFile), validateUser(at.Child("user"), c.User)...)
	for i, f := range c.KnownHosts {
		all = append(all, validateFile(at.Child("knownHosts").Index(i), f)...)
	}
	all = append(all, validateHops(at.Child("proxyJump"), c.ProxyJump)...)
	all = append(all, validateFile(at.Child("hostKeys"), c.HostKeys)...)
	if c.ConfigFile != NoConfig {
		all = append(all, validateFile(at.Child("configFile"), c.ConfigFile)...)
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

// NoConfig is ssh.configFile for no file.
const NoConfig = "none"

// Validate checks the rules that the schema cannot express.
func (o *Override) Validate(at *field.Path) field.ErrorList {
	all := append(validateFile(at.Child("identityFile"), o.IdentityFile), validateUser(at.Child("user"), o.User)...)
	return append(all, validateHops(at.Child("proxyJump"), o.ProxyJump)...)
}

// ForNode replaces {name} and {address} in a user.
func ForNode(user, name, address string) string {
	return strings.NewReplacer("{name}", name, "{address}", address).Replace(user)
}

func validateUser(at *field.Path, user string) field.ErrorList {
	if strings.ContainsAny(ForNode(user, "", ""), "{}") {
		return field.ErrorList{field.Invalid(at, user, "{name} and {address} are the only words in braces")}
	}
	return nil
}

func validateHops(at *field.Path, hops []string) field.ErrorList {
	if _, err := ParseHops(hops); err != nil {
		return field.ErrorList{field.Invalid(at, strings.Join(hops, ", "), err.Error())}
	}
	return nil
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
	h := Host{Name: name, Address: address, Port: c.Port, User: ForNode(c.User, name, address), IdentityFile: c.IdentityFile}
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
	h.User = ForNode(h.User, name, address)
	return h
}
