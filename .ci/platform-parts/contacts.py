"""The first contacts of the platforms.

Their domain is one that the sandbox does not know by name, so each address has a verdict that depends on nothing but itself
(docs/sandbox.md). The last of them are typing errors, which the verifier has suggestions for.
"""

DOMAIN = "acme-widgets.com"
MISTYPED = "gmal.com"
MISTYPED_COUNT = 10
GHOST_COUNT = 1000
MAILMAN_COUNT = 200
MAILMAN_LIST = "news.lists.test"


def addresses(name, count):
    def domain(number):
        return MISTYPED if number > count - MISTYPED_COUNT else DOMAIN

    return [f"{name}-{number:04}@{domain(number)}" for number in range(1, count + 1)]


def of_ghost():
    return addresses("member", GHOST_COUNT)


def of_mailman():
    return addresses("reader", MAILMAN_COUNT)
