// Package nvml reads the state of a host's GPUs from NVIDIA's management library (NVML): versions, and
// for each GPU its identity, memory errors, modes and links.
//
// The helper airgap-nvml calls the library and writes a Report as JSON. If the helper fails, the package
// reads the XML of nvidia-smi. Report.Faults returns the faults of the GPUs as sentences.
//
// The package needs no cgo and changes nothing. A value that a GPU or a library does not support is
// absent, never zero. A host's facts contain the Report as YAML.
package nvml

import "fmt"

// Report is the state of a host's GPUs according to the library.
type Report struct {
	Driver string `yaml:"driver" json:"driver"`                 // version: "580.82.07"
	CUDA   string `yaml:"cuda,omitempty" json:"cuda,omitempty"` // newest version that the driver supports: "13.0"
	GPUs   []GPU  `yaml:"cards" json:"cards"`                   // in the library's order
	// Xids are the events during the listen of Watch; nil without a listen.
	Xids []Xid `yaml:"xids,omitempty" json:"xids,omitzero"`
}

// GPU is one GPU.
type GPU struct {
	Index   int    `yaml:"index" json:"index"`                         // the number in the library and in nvidia-smi
	UUID    string `yaml:"uuid,omitempty" json:"uuid,omitempty"`       // "GPU-…"
	Address string `yaml:"address,omitempty" json:"address,omitempty"` // PCI address in the format of host.PCIDevice: "0000:17:00.0"
	Name    string `yaml:"name,omitempty" json:"name,omitempty"`       // "NVIDIA H100 80GB HBM3"
	Serial  string `yaml:"serial,omitempty" json:"serial,omitempty"`
	// Lost is the library's text if the GPU does not answer: "GPU is lost".
	Lost string `yaml:"lost,omitempty" json:"lost,omitempty"`

	ECC         *ECC    `yaml:"ecc,omitempty" json:"ecc,omitempty"`
	Rows        *Rows   `yaml:"rows,omitempty" json:"rows,omitempty"`
	MIG         *MIG    `yaml:"mig,omitempty" json:"mig,omitempty"`
	NVLinks     []bool  `yaml:"nvlinks,flow,omitempty" json:"nvlinks,omitempty"` // by number: whether the link is active
	Fabric      *Fabric `yaml:"fabric,omitempty" json:"fabric,omitempty"`
	Temperature *int    `yaml:"temperature,omitempty" json:"temperature,omitempty"` // °C
	// The GPU throttles from SlowdownTemperature on, and shuts down at ShutdownTemperature: °C.
	SlowdownTemperature *int   `yaml:"slowdownTemperature,omitempty" json:"slowdownTemperature,omitempty"`
	ShutdownTemperature *int   `yaml:"shutdownTemperature,omitempty" json:"shutdownTemperature,omitempty"`
	PowerDraw           *int   `yaml:"powerDraw,omitempty" json:"powerDraw,omitempty"`   // milliwatts
	PowerLimit          *int   `yaml:"powerLimit,omitempty" json:"powerLimit,omitempty"` // milliwatts, the enforced limit
	Memory              *int64 `yaml:"memory,omitempty" json:"memory,omitempty"`         // total, in bytes
}

// Mode is a setting that changes at the next reset of the GPU.
type Mode struct {
	Current bool `yaml:"current" json:"current"`
	Pending bool `yaml:"pending" json:"pending"` // the value after the next reset
}

// ECC is the mode of error correction, and its counters.
type ECC struct {
	Mode      `yaml:",inline"`
	Volatile  Errors `yaml:"volatile" json:"volatile"`   // since the driver was loaded
	Aggregate Errors `yaml:"aggregate" json:"aggregate"` // in the GPU's lifetime
}

// Errors are the numbers of memory errors.
type Errors struct {
	Corrected   *uint64 `yaml:"corrected,omitempty" json:"corrected,omitempty"`
	Uncorrected *uint64 `yaml:"uncorrected,omitempty" json:"uncorrected,omitempty"`
}

// Rows are the memory rows that the GPU has replaced with spare rows.
type Rows struct {
	Corrected   int  `yaml:"corrected" json:"corrected"`     // number, because of corrected errors
	Uncorrected int  `yaml:"uncorrected" json:"uncorrected"` // number, because of uncorrected errors
	Pending     bool `yaml:"pending" json:"pending"`         // more rows are replaced at the next reset
	Failed      bool `yaml:"failed" json:"failed"`           // no spare row was available
}

// MIG is the MIG mode of a GPU and its instances.
type MIG struct {
	Mode      `yaml:",inline"`
	Instances []Instance `yaml:"instances,omitempty" json:"instances,omitempty"`
}

// Instance is a MIG instance that a container can use.
type Instance struct {
	UUID    string `yaml:"uuid,omitempty" json:"uuid,omitempty"`       // "MIG-…"; not in nvidia-smi's XML
	Name    string `yaml:"name,omitempty" json:"name,omitempty"`       // "NVIDIA A100-SXM4-80GB MIG 1g.10gb"; not in nvidia-smi's XML
	GPU     *int   `yaml:"gpu,omitempty" json:"gpu,omitempty"`         // number of the GPU instance
	Compute *int   `yaml:"compute,omitempty" json:"compute,omitempty"` // number of the compute instance in it
}

// Fabric is the state of a GPU's registration with the NVSwitch fabric.
type Fabric struct {
	State FabricState `yaml:"state" json:"state"`
	Error string      `yaml:"error,omitempty" json:"error,omitempty"` // the library's text, if a completed registration failed
}

// FabricState is a stage of the registration with the fabric manager.
type FabricState string

const (
	FabricNotStarted FabricState = "not started"
	FabricInProgress FabricState = "in progress"
	FabricCompleted  FabricState = "completed"
)

// Xid is an error of a GPU that the driver has reported.
type Xid struct {
	Card   int    `yaml:"card" json:"card"` // its Index; -1 if the event has none
	Number uint64 `yaml:"xid" json:"xid"`   // as in NVIDIA's "XID Errors"
}

// String returns, for example, "GPU 3 (0000:4e:00.0)".
func (c GPU) String() string {
	switch {
	case c.Index < 0:
		return "an unknown GPU"
	case c.Address == "":
		return fmt.Sprintf("GPU %d", c.Index)
	}
	return fmt.Sprintf("GPU %d (%s)", c.Index, c.Address)
}
