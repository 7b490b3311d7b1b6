package execs

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// A record of the probe has numbers of 8 bytes, then the arguments and the
// environment as in the memory of the new program.
const (
	atPID      = 8 * iota // in its upper half
	atChild               // ID of the program's cgroup directly below the watched one, or of its ancestor there
	atArgs                // length of the arguments
	atAll                 // length of arguments and environment
	atFailed              // error code of the copy, or 0
	headerSize            // where the strings begin

	maxText  = 31 << 10 // bytes of one program; longer text is cut: the buffer of a CPU has at most 32 KiB
	ringSize = 8 << 20
)

// A probe is the program in the kernel with its maps.
type probe struct {
	program *ebpf.Program
	ring    *ebpf.Map // records
	missed  *ebpf.Map // one number: records without space in the ring buffer
	others  []*ebpf.Map
}

// loadProbe loads a program into the kernel that reports the processes below one
// cgroup, with the ID of their cgroup at a level. The program does nothing until it
// is attached.
func loadProbe(cgroup string, level int) (*probe, error) {
	p := &probe{}
	var where, scratch *ebpf.Map
	for _, m := range []struct {
		into **ebpf.Map
		spec ebpf.MapSpec
	}{
		{&p.ring, ebpf.MapSpec{Type: ebpf.RingBuf, MaxEntries: ringSize}},
		{&p.missed, ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1}},
		{&where, ebpf.MapSpec{Type: ebpf.CGroupArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}},
		{&scratch, ebpf.MapSpec{Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: headerSize + maxText, MaxEntries: 1}},
	} {
		made, err := ebpf.NewMap(&m.spec)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("make a BPF map: %w", err), p.close())
		}
		*m.into = made
		p.others = append(p.others, made)
	}
	if err := put(where, cgroup); err != nil {
		return nil, errors.Join(err, p.close())
	}
	offsets, err := findOffsets()
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.program, err = ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "airgap_lab_exec", Type: ebpf.RawTracepoint, License: "Dual BSD/GPL", // the helpers that read memory require a GPL-compatible license
		Instructions: instructions(offsets, level, where, scratch, p.ring, p.missed),
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load the BPF program: %w", err), p.close())
	}
	return p, nil
}

func put(where *ebpf.Map, cgroup string) error {
	dir, err := unix.Open(cgroup, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return where.Put(uint32(0), uint32(dir))
}

func (p *probe) lost() (int, error) {
	var n uint64
	err := p.missed.Lookup(uint32(0), &n)
	return int(n), err
}

func (p *probe) close() error {
	var errs []error
	if p.program != nil {
		errs = append(errs, p.program.Close())
	}
	for _, m := range p.others {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}

// offsets are the positions of struct members in this kernel, in bytes.
type offsets struct{ mm, args int32 }

func findOffsets() (offsets, error) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return offsets{}, fmt.Errorf("read the kernel's types: %w", err)
	}
	mm, err := offsetOf(kernel, "task_struct", "mm")
	if err != nil {
		return offsets{}, err
	}
	args, err := offsetOf(kernel, "mm_struct", "arg_start")
	return offsets{mm, args}, err
}

func offsetOf(kernel *btf.Spec, structure, member string) (int32, error) {
	var s *btf.Struct
	if err := kernel.TypeByName(structure, &s); err != nil {
		return 0, fmt.Errorf("read the kernel's types: %w", err)
	}
	at, found := within(s.Members, member)
	if !found {
		return 0, fmt.Errorf("read the kernel's types: no %s in %s", member, structure)
	}
	return int32(at), nil
}

// within returns the offset of a member, also in anonymous structures.
func within(members []btf.Member, name string) (uint32, bool) {
	for _, m := range members {
		if m.Name == name {
			return m.Offset.Bytes(), true
		}
		if inner, is := m.Type.(*btf.Struct); is && m.Name == "" {
			if at, found := within(inner.Members, name); found {
				return m.Offset.Bytes() + at, true
			}
		}
	}
	return 0, false
}

// instructions copies the arguments and the environment, which are adjacent in memory,
// into scratch, and writes them to the ring buffer.
func instructions(at offsets, level int, where, scratch, ring, missed *ebpf.Map) asm.Instructions {
	const record, start, length = asm.R7, asm.R8, asm.R9
	frame := func(offset int32) asm.Instructions {
		return asm.Instructions{asm.Mov.Reg(asm.R1, asm.RFP), asm.Add.Imm(asm.R1, offset)}
	}
	kernel := func(to, size int32, from asm.Register, offset int32) asm.Instructions {
		return append(frame(to), asm.Mov.Imm(asm.R2, size), asm.Mov.Reg(asm.R3, from), asm.Add.Imm(asm.R3, offset), asm.FnProbeReadKernel.Call())
	}
	first := func(m *ebpf.Map) asm.Instructions { // the only element; jumps to the end if it is missing
		return asm.Instructions{
			asm.StoreImm(asm.RFP, -4, 0, asm.Word),
			asm.LoadMapPtr(asm.R1, m.FD()), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, -4), asm.FnMapLookupElem.Call(),
			asm.JEq.Imm(asm.R0, 0, "end"),
		}
	}
	var all asm.Instructions
	add := func(more ...asm.Instruction) { all = append(all, more...) }

	add(asm.LoadMem(start, asm.R1, 0, asm.DWord)) // the task
	add(asm.LoadMapPtr(asm.R1, where.FD()), asm.Mov.Imm(asm.R2, 0), asm.FnCurrentTaskUnderCgroup.Call(), asm.JNE.Imm(asm.R0, 1, "end"))
	add(first(scratch)...)
	add(asm.Mov.Reg(record, asm.R0))

	add(kernel(-16, 8, start, at.mm)...)
	add(asm.LoadMem(start, asm.RFP, -16, asm.DWord)) // its memory
	add(kernel(-48, 32, start, at.args)...)          // arg_start, arg_end, env_start, env_end
	add(asm.LoadMem(start, asm.RFP, -48, asm.DWord))
	add(asm.LoadMem(length, asm.RFP, -40, asm.DWord), asm.Sub.Reg(length, start), asm.StoreMem(record, atArgs, length, asm.DWord))
	add(asm.LoadMem(length, asm.RFP, -24, asm.DWord), asm.Sub.Reg(length, start), asm.StoreMem(record, atAll, length, asm.DWord))
	add(asm.FnGetCurrentPidTgid.Call(), asm.StoreMem(record, atPID, asm.R0, asm.DWord))
	add(asm.Mov.Imm(asm.R1, int32(level)), asm.FnGetCurrentAncestorCgroupId.Call(), asm.StoreMem(record, atChild, asm.R0, asm.DWord))

	add(asm.JLE.Imm(length, maxText, "fits"), asm.Mov.Imm(length, maxText))
	add(asm.Mov.Reg(asm.R1, record).WithSymbol("fits"), asm.Add.Imm(asm.R1, headerSize), asm.Mov.Reg(asm.R2, length), asm.Mov.Reg(asm.R3, start), asm.FnProbeReadUser.Call())
	add(asm.StoreMem(record, atFailed, asm.R0, asm.DWord))

	add(asm.LoadMapPtr(asm.R1, ring.FD()), asm.Mov.Reg(asm.R2, record), asm.Mov.Reg(asm.R3, length), asm.Add.Imm(asm.R3, headerSize), asm.Mov.Imm(asm.R4, 0), asm.FnRingbufOutput.Call())
	add(asm.JEq.Imm(asm.R0, 0, "end"))
	add(first(missed)...)
	add(asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0))
	add(asm.Mov.Imm(asm.R0, 0).WithSymbol("end"), asm.Return())
	return all
}
