/* Start-up of a bare processor under qemu: floating point on, CONDYLE_CHECK() called, its result given to the host by
 * semihosting as the exit status. ARMv7-M, RV64 and AArch64. Without the name CONDYLE_CHECK there is nothing here. */
typedef int condyle_bare;
#ifdef CONDYLE_CHECK
#include <stddef.h>
#include <stdint.h>

int CONDYLE_CHECK(void);

static uintptr_t host(uintptr_t operation, const void *block)
{
#if defined(__riscv)
    register uintptr_t a __asm__("a0") = operation;
    register const void *b __asm__("a1") = block;
    __asm__ volatile(".option push\n.option norvc\n.balign 4\nslli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop"
                     : "+r"(a) : "r"(b) : "memory");
#elif defined(__aarch64__)
    register uintptr_t a __asm__("x0") = operation;
    register const void *b __asm__("x1") = block;
    __asm__ volatile("hlt 0xf000" : "+r"(a) : "r"(b) : "memory");
#else
    register uintptr_t a __asm__("r0") = operation;
    register const void *b __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(a) : "r"(b) : "memory");
#endif
    return a;
}

void condyle_print(const char *text)
{
    host(0x04, text);
}

__attribute__((used, noreturn)) void condyle_exit(int status)
{
    const uintptr_t block[2] = {0x20026, (uintptr_t)status};
    for (;;) {
        host(0x20, block);
    }
}

__attribute__((used, noreturn)) static void run(void)
{
    condyle_exit(CONDYLE_CHECK());
}

__attribute__((used, noreturn)) static void trap(void)
{
    condyle_exit(125);
}

#if defined(__riscv)
__asm__(".pushsection .start, \"ax\"\n.globl condyle_start\ncondyle_start:\nla sp, condyle_stack\nla t0, trapped\n"
        "csrw mtvec, t0\nli t0, 0x6000\ncsrs mstatus, t0\ncall run\n.balign 4\ntrapped: call trap\n.popsection");
#elif defined(__aarch64__)
/* Addresses are translated, each to itself: without that memory is a device, and unaligned loads trap. */
__attribute__((used, aligned(4096))) static uint64_t pages[512] = {0, 0x40000701};
__asm__(".pushsection .start, \"ax\"\n.globl condyle_start\ncondyle_start:\nadrp x0, condyle_stack\n"
        "add x0, x0, :lo12:condyle_stack\nmov sp, x0\nmov x0, 0x300000\nmsr cpacr_el1, x0\n"
        "adrp x0, trapped\nmsr vbar_el1, x0\nmov x0, 0xff\nmsr mair_el1, x0\nldr x0, =0x803519\nmsr tcr_el1, x0\n"
        "adrp x0, pages\nmsr ttbr0_el1, x0\nisb\nmrs x0, sctlr_el1\norr x0, x0, 1\nmsr sctlr_el1, x0\nisb\nbl run\n"
        ".ltorg\n.balign 4096\ntrapped:\n.rept 16\nb trap\n.balign 128\n.endr\n.popsection");
#else
extern unsigned char condyle_stack[];
__attribute__((used, noreturn)) void condyle_start(void);
__attribute__((used, section(".start"))) static const void *const vectors[16] = {
    condyle_stack, (void *)condyle_start, (void *)trap, (void *)trap, (void *)trap, (void *)trap, (void *)trap};

void condyle_start(void)
{
    *(volatile uint32_t *)0xe000ed88 |= 0xf00000; /* CPACR: full access to the floating-point unit */
    __asm__ volatile("dsb\nisb" : : : "memory");
    run();
}
#endif
#endif
