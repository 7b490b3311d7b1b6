// Package nvml is what NVIDIA's management library says of a host's cards, as a
// form: versions, and for each card its identity, memory errors, modes, links.
//
// It comes in from the helper airgap-nvml, which asks the library and writes the
// form as JSON, or from the XML of nvidia-smi where the helper cannot run. What
// is wrong with the cards goes out as sentences, Faults.
//
// The package needs no cgo and changes nothing. A value that a card or a library
// does not have is absent, never zero. A host's facts have the form as YAML.
package nvml

import "fmt"

// Report is what the library says of a host.
type Report struct {
	Driver string `yaml:"driver" json:"driver"`                 // version: "580.82.07"
	CUDA   string `yaml:"cuda,omitempty" json:"cuda,omitempty"` // newest version that the driver runs by itself: "13.0"
	Cards  []Card `yaml:"cards" json:"cards"`                   // in the library's order
	// Xids are the events in the time that was listened for them; nil: nobody did.
	Xids []Xid `yaml:"xids,omitempty" json:"xids,omitzero"`
}

// Card is one GPU.
type Card struct {
	Index   int    `yaml:"index" json:"index"`                         // the library's number, and nvidia-smi's
	UUID    string `yaml:"uuid,omitempty" json:"uuid,omitempty"`       // "GPU-…"
	Address string `yaml:"address,omitempty" json:"address,omitempty"` // on the PCI bus, as host.PCIDevice has it: "0000:17:00.0"
	Name    string `yaml:"name,omitempty" json:"name,omitempty"`       // "NVIDIA H100 80GB HBM3"
	Serial  string `yaml:"serial,omitempty" json:"serial,omitempty"`
	// Lost is why the card does not answer, in the library's words: "GPU is lost".
	Lost string `yaml:"lost,omitempty" json:"lost,omitempty"`

	ECC         *ECC    `yaml:"ecc,omitempty" json:"ecc,omitempty"`
	Rows        *Rows   `yaml:"rows,omitempty" json:"rows,omitempty"`
	MIG         *MIG    `yaml:"mig,omitempty" json:"mig,omitempty"`
	NVLinks     []bool  `yaml:"nvlinks,flow,omitempty" json:"nvlinks,omitempty"` // by number, whether it is active
	Fabric      *Fabric `yaml:"fabric,omitempty" json:"fabric,omitempty"`
	Temperature *int    `yaml:"temperature,omitempty" json:"temperature,omitempty"` // °C
	// From SlowdownTemperature on the card slows itself down, at ShutdownTemperature
	// it turns itself off: °C.
	SlowdownTemperature *int   `yaml:"slowdownTemperature,omitempty" json:"slowdownTemperature,omitempty"`
	ShutdownTemperature *int   `yaml:"shutdownTemperature,omitempty" json:"shutdownTemperature,omitempty"`
	PowerDraw           *int   `yaml:"powerDraw,omitempty" json:"powerDraw,omitempty"`   // milliwatts
	PowerLimit          *int   `yaml:"powerLimit,omitempty" json:"powerLimit,omitempty"` // milliwatts that are enforced
	Memory              *int64 `yaml:"memory,omitempty" json:"memory,omitempty"`         // bytes, all of it
}

// Mode is a switch that takes effect when the card is reset.
type Mode struct {
	Current bool `yaml:"current" json:"current"`
	Pending bool `yaml:"pending" json:"pending"` // what it will be after the next reset
}

// ECC is the mode of error correction, and what it has counted.
type ECC struct {
	Mode      `yaml:",inline"`
	Volatile  Errors `yaml:"volatile" json:"volatile"`   // since the driver was loaded
	Aggregate Errors `yaml:"aggregate" json:"aggregate"` // in the card's life
}

// Errors are counts of errors in memory.
type Errors struct {
	Corrected   *uint64 `yaml:"corrected,omitempty" json:"corrected,omitempty"`
	Uncorrected *uint64 `yaml:"uncorrected,omitempty" json:"uncorrected,omitempty"`
}

// Rows are those of memory that the card has replaced by spare ones.
type Rows struct {
	Corrected   int  `yaml:"corrected" json:"corrected"`     // for errors that were corrected
	Uncorrected int  `yaml:"uncorrected" json:"uncorrected"` // for errors that were not
	Pending     bool `yaml:"pending" json:"pending"`         // more wait for the next reset
	Failed      bool `yaml:"failed" json:"failed"`           // there was no spare row
}

// MIG is the partitioning of a card.
type MIG struct {
	Mode      `yaml:",inline"`
	Instances []Instance `yaml:"instances,omitempty" json:"instances,omitempty"`
}

// Instance is one of a card's parts that a container may have.
type Instance struct {
	UUID    string `yaml:"uuid,omitempty" json:"uuid,omitempty"`       // "MIG-…"; nvidia-smi's XML has none
	Name    string `yaml:"name,omitempty" json:"name,omitempty"`       // "NVIDIA A100-SXM4-80GB MIG 1g.10gb"; nor this
	GPU     *int   `yaml:"gpu,omitempty" json:"gpu,omitempty"`         // number of the GPU instance
	Compute *int   `yaml:"compute,omitempty" json:"compute,omitempty"` // number of the compute instance in it
}

// Fabric is how far a card has come to be one of those that NVSwitches join.
type Fabric struct {
	State FabricState `yaml:"state" json:"state"`
	Error string      `yaml:"error,omitempty" json:"error,omitempty"` // of a completed registration, in the library's words
}

// FabricState is a stage of the registration with the fabric manager.
type FabricState string

const (
	FabricNotStarted FabricState = "not started"
	FabricInProgress FabricState = "in progress"
	FabricCompleted  FabricState = "completed"
)

// Xid is an error that the driver has reported of a card.
type Xid struct {
	Card   int    `yaml:"card" json:"card"` // its Index; -1 when the event names none
	Number uint64 `yaml:"xid" json:"xid"`   // as in NVIDIA's "XID Errors"
}

// String is "GPU 3 (0000:4e:00.0)".
func (c Card) String() string {
	switch {
	case c.Index < 0:
		return "an unknown GPU"
	case c.Address == "":
		return fmt.Sprintf("GPU %d", c.Index)
	}
	return fmt.Sprintf("GPU %d (%s)", c.Index, c.Address)
}
