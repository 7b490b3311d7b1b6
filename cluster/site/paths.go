package site

// Paths of airgap on a server. airgap.rpm owns the directories.
const (
	StateDir    = "/var/lib/airgap"
	StoreDir    = StateDir + "/store"         // bundles, served in place
	PushedDir   = StateDir + "/pushed"        // images that the site pushes
	JoinDir     = StateDir + "/join"          // files that joining hosts can read
	JournalFile = StateDir + "/journal.jsonl" // the steps that ran, for the operator and for reset
	NetworkDir  = StateDir + "/network"       // the NetworkChoice, if airgap made one on the site
	IndexDir    = StateDir + "/index"         // on a host that joined: the signed index that it used
	LockFile    = StateDir + "/lock"          // one install, join or reset at a time
	ReportFile  = StateDir + "/report.json"   // settings of airgap-node-report.service
	BackupDir   = StateDir + "/backup"        // backups of the control plane, with its private keys
	BackupKeys  = StateDir + "/backup-key"    // the key that signs backups, and the recipients of their encryption
	UpgradeDir  = StateDir + "/upgrade"       // state of an upgrade, and the files for its rollback
	RestoredDir = StateDir + "/restored"      // of a restored host: the ID of its backup, and the journal of the old host
	DnfDir      = StateDir + "/dnf"           // private dnf configuration and cache
	UndoDir     = StateDir + "/undo"          // records of steps that reset reads

	InstalledProgram = "/usr/bin/airgap" // by airgap.rpm

	PKIDir       = "/etc/airgap/pki"           // the registry's certificates
	TrustDir     = "/etc/pki/airgap"           // *.pub: keys from airgap.rpm; bundles must be signed with one of them
	RequiredFile = "/etc/airgap/required-keys" // fingerprints from --require-key, which replace the keys in TrustDir and KeptKeysDir, and the number from --require-keys
	KeptKeysDir  = "/etc/airgap/trusted-keys"  // *.pub: keys that TrustDir had when this host was installed or upgraded, so that earlier bundles stay usable
	LogDir       = "/var/log/airgap"
	DnfLog       = LogDir + "/dnf.log"

	SSHFile        = "/etc/airgap/ssh.yaml"         // of the site: SSH settings that replace those of airgap.yaml
	KnownHostsFile = StateDir + "/known_hosts"      // SSH host keys that the operator confirmed
	MeasuredFile   = StateDir + "/measured.json"    // the encapsulation that airgap netprobe listen measured, until install uses it
	OwedFile       = StateDir + "/owed.json"        // hosts that a command left out
	OwedUnsent     = StateDir + "/owed-unsent.json" // changes of OwedFile that the cluster does not have
	OthersReset    = StateDir + "/others-reset"     // all other hosts are reset, and this one is the last
	HostLogDir     = LogDir + "/hosts"              // output of the other hosts, one file for each

	VersionlockUndo = UndoDir + "/versionlock.json"

	RPMKeyFile = "/etc/pki/rpm-gpg/RPM-GPG-KEY-airgap"

	CertsDir       = "/etc/containerd/certs.d"
	ExistingCAFile = "/etc/airgap/existing-registry.crt" // CA of the site's existing registry
	RegistryOpts   = "/etc/sysconfig/airgap-registry"
	UsersFile      = "/etc/airgap/registry.htpasswd" // users with push access
	ServiceGroup   = "airgap"                        // group of the registry's user, created by airgap.rpm
)
