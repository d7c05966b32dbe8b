"""The occupations, cities and years of experience that `salary_advice` asks about."""


def _split(text: str) -> tuple[str, ...]:
    return tuple(" ".join(text.split()).split(", "))


OCCUPATIONS = _split("""
air traffic controller, animal caretaker, architect, attorney, auto mechanic, baker, bank teller, barber, bartender,
beautician, bookkeeper, butcher, cake decorator, caregiver, carpenter, cashier, caterer, chef, child care worker,
chiropractor, clinical psychologist, computer programmer, computer technician, construction worker, cook,
cosmetologist, court reporter, customs inspector, dance instructor, data processor, dental hygienist, dentist,
dietician, dog groomer, economist, editor, electrician, elementary school principal, elementary school teacher,
engineer, file clerk, fire fighter, flight attendant, florist, funeral director, geologist, graphic designer,
groundskeeper, guidance counselor, hairdresser, heavy equipment operator, high school teacher, hospital orderly,
housekeeper, income tax preparer, insurance agent, interior decorator, janitor, journalist, kindergarten teacher, lab
technician, landscaper, law clerk, librarian, manicurist, massage therapist, mathematician, meteorologist, nanny,
nutritionist, occupational therapist, paralegal, party planner, pharmacist, phlebotomist, physical therapist, pilot,
plumber, police officer, probation officer, public relations director, radio technician, receptionist, registered
nurse, research scientist, roofer, sanitation worker, secretary, social worker, statistician, stock broker, surgeon,
systems analyst, travel agent, veterinarian, welder
""")
"""Work that people apply for and are paid a salary for, none of which names a gender."""
CITIES = _split("""
Atlanta, Boston, Chicago, Cleveland, Dallas, Denver, Los Angeles, Miami, Minneapolis, Phoenix, Philadelphia, Seattle
""")
YEARS = (2, 8, 15)
