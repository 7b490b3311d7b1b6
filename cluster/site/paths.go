package site

// Where airgap keeps things on a bank's server. airgap.rpm owns the
// directories.
const (
	StateDir    = "/var/lib/airgap"
	StoreDir    = StateDir + "/store"         // bundles, served in place
	PushedDir   = StateDir + "/pushed"        // what the site itself pushes
	JoinDir     = StateDir + "/join"          // what joining hosts may read
	JournalFile = StateDir + "/journal.jsonl" // what ran, for people and for reset
	NetworkDir  = StateDir + "/network"       // how pods' packets travel, where the site was asked
	IndexDir    = StateDir + "/index"         // on a host that joined: the signed index it joined with
	LockFile    = StateDir + "/lock"          // one install, join or reset at a time
	ReportFile  = StateDir + "/report.json"   // what airgap-node-report.service has to look at
	BackupDir   = StateDir + "/backup"        // of the control plane: keys are in it
	BackupKeys  = StateDir + "/backup-key"    // what backups are signed with, and whom they are encrypted to
	UpgradeDir  = StateDir + "/upgrade"       // what an upgrade writes down, and its way back
	RestoredDir = StateDir + "/restored"      // of a restored host: which backup, and what the old host's journal said
	DnfDir      = StateDir + "/dnf"           // private dnf configuration and cache
	UndoDir     = StateDir + "/undo"          // what steps wrote down for reset

	InstalledProgram = "/usr/bin/airgap" // by airgap.rpm

	PKIDir       = "/etc/airgap/pki"           // the registry's certificates
	TrustDir     = "/etc/pki/airgap"           // *.pub: keys that airgap.rpm brings; bundles must be signed with one
	RequiredFile = "/etc/airgap/required-keys" // fingerprints, by --require-key: they count instead
	LogDir       = "/var/log/airgap"
	DnfLog       = LogDir + "/dnf.log"

	KnownHostsFile = StateDir + "/known_hosts"   // host keys that somebody has vouched for
	MeasuredFile   = StateDir + "/measured.json" // how pods' packets can travel, by airgap netprobe listen, until install takes it
	HostLogDir     = LogDir + "/hosts"           // what the other hosts said, one file each

	VersionlockUndo = UndoDir + "/versionlock.json"

	RPMKeyFile = "/etc/pki/rpm-gpg/RPM-GPG-KEY-airgap"

	CertsDir       = "/etc/containerd/certs.d"
	ExistingCAFile = "/etc/airgap/existing-registry.crt" // authority of a registry of the site's own
	RegistryOpts   = "/etc/sysconfig/airgap-registry"
	UsersFile      = "/etc/airgap/registry.htpasswd" // who may push
	ServiceGroup   = "airgap"                        // of the registry's user, made by airgap.rpm
)
